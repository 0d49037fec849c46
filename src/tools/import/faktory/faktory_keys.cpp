#include "tools/import/faktory/faktory_keys.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>

#include "base/number.hpp"
#include "base/text.hpp"

namespace millrace::tools {
namespace {

constexpr std::array<std::string_view, 4> kSortedSets = {"scheduled", "retries", "dead", "working"};
constexpr std::string_view kListStart = "q:";
constexpr std::string_view kKeysAtOnce = "1000";
constexpr std::size_t kShownKeyBytes = 60;

/// What Faktory stores at a key of that name; empty: it makes no such key, but it may be a queue of
/// an old version.
std::string_view type_at(std::string_view key) {
  if (key == "queues" || key == "paused") return "set";
  if (std::ranges::find(kSortedSets, key) != kSortedSets.end()) return "zset";
  if (key.starts_with(kListStart)) return "list";
  const std::string_view stem = key.substr(0, key.find(':'));
  if (stem == "processed" || stem == "failures" || key == "v") return "string";
  return {};
}

std::string shown_key(std::string_view key) {
  std::string name = one_line(key, kShownKeyBytes);
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return name;
}

/// `2026-11-26` as days since 1970.
std::optional<std::int32_t> parse_day(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = parse_number<int>(text.substr(0, 4));
  const auto month = parse_number<unsigned>(text.substr(5, 2));
  const auto day = parse_number<unsigned>(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{*month},
                                         std::chrono::day{*day}};
  if (!date.ok()) return std::nullopt;
  return static_cast<std::int32_t>(std::chrono::sys_days(date).time_since_epoch().count());
}

std::vector<std::string> texts_of(const redisReply& reply) {
  std::vector<std::string> texts;
  if (reply.type != REDIS_REPLY_ARRAY) return texts;
  for (std::size_t i = 0; i < reply.elements; ++i) {
    texts.emplace_back(text_of_reply(*reply.element[i]));
  }
  return texts;
}

/// Looks at each key once.
class KeyReader {
 public:
  KeyReader(Redis& redis, bool ignores_others) : redis_(redis), ignores_others_(ignores_others) {}

  Outcome<FaktoryKeys> read() {
    if (auto read = read_names(); !read) return read.error();
    std::string cursor = "0";
    do {
      const auto page = redis_.ask({"SCAN", cursor, "COUNT", kKeysAtOnce});
      if (!page) return page.error();
      const redisReply& reply = **page;
      if (reply.type != REDIS_REPLY_ARRAY || reply.elements != 2) return odd("SCAN");
      cursor = text_of_reply(*reply.element[0]);
      if (auto taken = take(texts_of(*reply.element[1])); !taken) return taken.error();
    } while (cursor != "0");
    if (seen_.empty()) return Problem{redis_.name() + ": Faktory has stored nothing there"};
    for (auto& [name, queue] : keys_.queues) {
      // What was not migrated is older.
      std::ranges::sort(queue.lists, {},
                        [](const std::string& key) { return key.starts_with(kListStart); });
    }
    for (const auto& [day, counts] : days_) keys_.days.push_back(counts);
    return std::move(keys_);
  }

 private:
  Problem odd(std::string_view command) const {
    return Problem{redis_.name() + ": an odd answer to " + std::string(command)};
  }

  /// The names of queues, which tell what is a queue of an old version.
  Outcome<Done> read_names() {
    for (const std::string_view key : {"queues", "paused"}) {
      const auto type = redis_.ask({"TYPE", key});
      if (!type) return type.error();
      if (auto fit = check_type(key, text_of_reply(**type)); !fit) return fit;
      const auto names = redis_.ask({"SMEMBERS", key});
      if (!names) return names.error();
      for (const std::string& name : texts_of(**names)) {
        FaktoryKeys::Queue& queue = keys_.queues[name];
        if (key == "paused") queue.is_paused = true;
      }
    }
    return Done{};
  }

  Outcome<Done> check_type(std::string_view key, std::string_view type) const {
    const std::string_view wanted = type_at(key);
    if (type == wanted || type == "none") return Done{};
    return Problem{redis_.name() + ": this is not a database of Faktory: the key " +
                   shown_key(key) + " is a " + std::string(type) + ", and Faktory's is a " +
                   std::string(wanted)};
  }

  /// SCAN may name a key twice.
  Outcome<Done> take(std::vector<std::string> keys) {
    std::erase_if(keys, [this](const std::string& key) { return !seen_.insert(key).second; });
    for (const std::string& key : keys) redis_.send({"TYPE", key});
    std::vector<std::string> types;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto type = redis_.receive();
      if (!type) return type.error();
      types.emplace_back(text_of_reply(**type));
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (auto taken = take_key(keys[i], types[i]); !taken) return taken;
    }
    return Done{};
  }

  Outcome<Done> take_key(const std::string& key, std::string_view type) {
    const std::string_view wanted = type_at(key);
    if (wanted.empty()) return take_unknown(key, type);
    // A queue of an old version may have any name.
    if (type == "list" && wanted != "list" && keys_.queues.contains(key)) {
      keys_.queues[key].lists.push_back(key);
      return Done{};
    }
    if (auto fit = check_type(key, type); !fit) return fit;
    if (wanted == "zset") keys_.sorted_sets.insert(key);
    if (wanted == "list") keys_.queues[key.substr(kListStart.size())].lists.push_back(key);
    return wanted == "string" ? take_number(key) : Outcome<Done>(Done{});
  }

  Outcome<Done> take_unknown(const std::string& key, std::string_view type) {
    if (type == "list" && keys_.queues.contains(key)) {
      keys_.queues[key].lists.push_back(key);
      return Done{};
    }
    ++keys_.other_keys;
    keys_.an_other_key = shown_key(key);
    seen_.erase(key);
    if (ignores_others_) return Done{};
    return Problem{redis_.name() +
                   ": this is not a database of Faktory alone: it makes no key like " +
                   keys_.an_other_key + "; to leave such keys alone, use --ignore-other-keys"};
  }

  Outcome<Done> take_number(const std::string& key) {
    if (key == "v") return Done{};
    const auto answer = redis_.ask({"GET", key});
    if (!answer) return answer.error();
    const auto number = parse_number<std::uint64_t>(text_of_reply(**answer)).value_or(0);
    const bool is_failed = key.starts_with("failures");
    const std::size_t colon = key.find(':');
    if (colon == key.npos) {
      (is_failed ? keys_.failed : keys_.processed) = number;
      return Done{};
    }
    const auto day = parse_day(std::string_view(key).substr(colon + 1));
    if (!day || number == 0) return Done{};
    DayCounts& counts = days_[*day];
    counts.day = *day;
    (is_failed ? counts.failed : counts.processed) = number;
    return Done{};
  }

  Redis& redis_;
  const bool ignores_others_;
  FaktoryKeys keys_;
  std::set<std::string> seen_;  ///< of Faktory
  std::map<std::int32_t, DayCounts> days_;
};

/// The value of a line `NAME:VALUE` of INFO.
std::string info_value(std::string_view info, std::string_view name) {
  const std::size_t at = info.find("\n" + std::string(name) + ":");
  if (at == info.npos) return {};
  const std::string_view value = info.substr(at + name.size() + 2);
  return std::string(value.substr(0, value.find_first_of("\r\n")));
}

}  // namespace

Outcome<FaktoryKeys> read_faktory_keys(Redis& redis, bool ignores_others) {
  return KeyReader(redis, ignores_others).read();
}

Outcome<RedisVersion> read_redis_version(Redis& redis) {
  const auto info = redis.ask({"INFO", "persistence"});
  if (!info) return info.error();
  const std::string_view text = text_of_reply(**info);
  return RedisVersion{.unsaved = info_value(text, "rdb_changes_since_last_save"),
                      .saved_at = info_value(text, "rdb_last_save_time")};
}

std::uint64_t count_other_clients(Redis& redis) {
  const auto clients = redis.ask({"CLIENT", "LIST"});
  if (!clients) return 0;
  const std::string_view text = text_of_reply(**clients);
  const auto lines = static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
  return lines == 0 ? 0 : lines - 1;
}

}  // namespace millrace::tools
