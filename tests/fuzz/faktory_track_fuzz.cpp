// TRACK lines: what is understood is within its limits and means the same when it is written again,
// and every refusal fits into one line.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/model/features/track.hpp"
#include "core/model/queue.hpp"
#include "faktory/json/text.hpp"
#include "faktory/json/timestamp.hpp"
#include "faktory/session/parse_track.hpp"
#include "faktory/session/reply.hpp"

namespace {

using namespace millrace;
using namespace millrace::faktory;

void check(bool holds) {
  if (!holds) std::abort();
}

bool is_utf8(const std::string& text) {
  const nlohmann::json json(text);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore) ==
         json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void check_set(const TrackSet& set) {
  check(!set.jid.empty() && set.jid.size() <= kJidBytesMax);
  check(!set.percent || *set.percent <= 100);
  check(!set.desc || set.desc->size() <= kTrackDescBytesMax);
  // It is shown as JSON.
  check(is_utf8(set.jid) && (!set.desc || is_utf8(*set.desc)));
}

std::string written(const TrackSet& set) {
  nlohmann::json json{{"jid", set.jid}};
  if (set.percent) json["percent"] = *set.percent;
  if (set.desc) json["desc"] = *set.desc;
  if (set.reserve_until) json["reserve_until"] = format_time(*set.reserve_until);
  return "SET " + json.dump();
}

void check_same(const TrackSet& one, const TrackSet& other) {
  check(one.jid == other.jid && one.percent == other.percent && one.desc == other.desc);
  check(one.reserve_until == other.reserve_until);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // A line has no line end in it.
  if (bytes.find('\n') != std::string_view::npos) return 0;
  const auto command = parse_track(bytes);
  if (!command) {
    std::string line;
    reply::error(line, reply::refusal(command.error()));
    check(line.find_first_of("\r\n") == line.size() - 2);
    return 0;
  }
  if (const auto* get = std::get_if<TrackGet>(&*command)) {
    check(!get->jid.empty() && get->jid.size() <= kJidBytesMax);
    return 0;
  }
  const TrackSet& set = std::get<TrackSet>(*command);
  check_set(set);
  const std::string text = written(set);
  const auto again = parse_track(text);
  check(static_cast<bool>(again));
  check_same(std::get<TrackSet>(*again), set);
  return 0;
}
