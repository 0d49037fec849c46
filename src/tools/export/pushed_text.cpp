#include "tools/export/pushed_text.hpp"

#include <simdjson.h>

#include <string_view>
#include <utility>

#include "base/number.hpp"
#include "faktory/json/json_check.hpp"
#include "faktory/json/text.hpp"
#include "faktory/json/timestamp.hpp"

namespace millrace::tools {
namespace {

namespace ondemand = simdjson::ondemand;

/// Of the members in their object.
constexpr std::size_t kPushedMemberDepth = 1;

class PushedMembers {
 public:
  explicit PushedMembers(const PushChanges& changes) : changes_(changes) {
    if (!changes_.at) return;
    pushed_.json += R"("at":")";
    faktory::append_time(*changes_.at, pushed_.json);
    pushed_.json += '"';
  }

  /// False: it is no JSON.
  bool add(ondemand::document& document, ondemand::field& field) {
    std::string_view name;
    if (field.unescaped_key().get(name) != simdjson::SUCCESS) return false;
    const std::string own_name(name);
    const auto value = faktory::check_value(document, field.value(), kPushedMemberDepth);
    if (!value) return false;
    if (own_name == "at" || own_name == "enqueued_at") return true;
    if (pushed_.json.size() > 1) pushed_.json += ',';
    faktory::append_json_string(own_name, pushed_.json);
    pushed_.json += ':';
    const auto seconds =
        own_name == "reserve_for" ? parse_number<std::int64_t>(*value) : std::nullopt;
    if (seconds.value_or(0) > changes_.reserve_for_max) {
      pushed_.json += std::to_string(changes_.reserve_for_max);
      pushed_.is_cut = true;
    } else {
      pushed_.json += *value;
    }
    return true;
  }

  [[nodiscard]] PushedText end() {
    pushed_.json += '}';
    return std::move(pushed_);
  }

 private:
  const PushChanges& changes_;
  PushedText pushed_{.json = "{"};
};

}  // namespace

std::optional<PushedText> pushed_text(std::string_view shown, const PushChanges& changes) {
  const simdjson::padded_string padded(shown);
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object object;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS) return std::nullopt;
  if (document.get_object().get(object) != simdjson::SUCCESS) return std::nullopt;
  PushedMembers members(changes);
  for (auto member : object) {
    ondemand::field field;
    if (std::move(member).get(field) != simdjson::SUCCESS) return std::nullopt;
    if (!members.add(document, field)) return std::nullopt;
  }
  return members.end();
}

}  // namespace millrace::tools
