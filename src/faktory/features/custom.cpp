#include "faktory/features/custom.hpp"

#include "faktory/json/checked_json.hpp"

namespace millrace::faktory {
namespace {

/// By its length first: most members are the client's own.
std::string_view* member(Custom& custom, std::string_view name) {
  switch (name.size()) {
    case 3:
      return name == "bid" ? &custom.bid : nullptr;
    case 5:
      return name == "track" ? &custom.track : nullptr;
    case 10:
      if (name == "unique_for") return &custom.unique_for;
      if (name == "expires_at") return &custom.expires_at;
      return name == "expires_in" ? &custom.expires_in : nullptr;
    case 12:
      if (name == "unique_until") return &custom.unique_until;
      if (name == "retry_delays") return &custom.retry_delays;
      return name == "throttle_key" ? &custom.throttle_key : nullptr;
    case 15:
      return name == "unique_conflict" ? &custom.unique_conflict : nullptr;
    default:
      return nullptr;
  }
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
