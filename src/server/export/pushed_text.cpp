#include "server/export/pushed_text.hpp"

#include <simdjson.h>

#include <utility>

#include "faktory/json/json_check.hpp"
#include "faktory/json/text.hpp"
#include "faktory/json/timestamp.hpp"

namespace millrace::server {
namespace {

namespace ondemand = simdjson::ondemand;

/// Of the members in their object.
constexpr std::size_t kPushedMemberDepth = 1;

/// False: it is no JSON.
bool append_member(ondemand::document& document, ondemand::field& field, std::string& text) {
  std::string_view name;
  if (field.unescaped_key().get(name) != simdjson::SUCCESS) return false;
  const std::string own_name(name);
  const auto value = faktory::check_value(document, field.value(), kPushedMemberDepth);
  if (!value) return false;
  if (own_name == "at" || own_name == "enqueued_at") return true;
  if (text.size() > 1) text += ',';
  faktory::append_json_string(own_name, text);
  text += ':';
  text += *value;
  return true;
}

}  // namespace

std::optional<std::string> pushed_text(std::string_view shown, std::optional<Time> at) {
  const simdjson::padded_string padded(shown);
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object object;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS) return std::nullopt;
  if (document.get_object().get(object) != simdjson::SUCCESS) return std::nullopt;
  std::string text = "{";
  if (at) {
    text += R"("at":")";
    faktory::append_time(*at, text);
    text += '"';
  }
  for (auto member : object) {
    ondemand::field field;
    if (std::move(member).get(field) != simdjson::SUCCESS) return std::nullopt;
    if (!append_member(document, field, text)) return std::nullopt;
  }
  return text + "}";
}

}  // namespace millrace::server
