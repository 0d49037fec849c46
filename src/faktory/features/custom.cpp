#include "faktory/features/custom.hpp"

#include "faktory/json/checked_json.hpp"

namespace millrace::faktory {
namespace {

std::string_view* member(Custom& custom, std::string_view name) {
  if (name == "unique_for") return &custom.unique_for;
  if (name == "unique_until") return &custom.unique_until;
  if (name == "unique_conflict") return &custom.unique_conflict;
  if (name == "expires_at") return &custom.expires_at;
  if (name == "expires_in") return &custom.expires_in;
  if (name == "track") return &custom.track;
  if (name == "bid") return &custom.bid;
  if (name == "throttle_key") return &custom.throttle_key;
  return nullptr;
}

}  // namespace

void Custom::take(std::string_view name, std::string_view value) {
  std::string_view* const field = member(*this, name);
  if (field != nullptr) *field = value == "null" ? std::string_view{} : value;
}

Custom read_custom(std::string_view raw) {
  Custom custom;
  custom.raw = raw;
  each_member(raw, [&](std::string_view name, std::string_view value) {
    const bool is_plain = name.find('\\') == std::string_view::npos;
    is_plain ? custom.take(name.substr(1, name.size() - 2), value)
             : custom.take(meaning_of(name), value);
  });
  return custom;
}

}  // namespace millrace::faktory
