#include "server/options/tables/cron_config.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/check.hpp"
#include "base/duration.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "faktory/job/pushed_job.hpp"
#include "faktory/json/text.hpp"
#include "faktory/session/reply.hpp"

namespace millrace::server {
namespace {

using Appended = Result<Done, NoJson>;

/// A number with a point or an exponent: a reader shall not take it for a whole one.
void append_fraction(double value, std::string& out) {
  std::array<char, 32> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  CHECK(error == std::errc{});
  const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

Appended append_array(const toml::array& array, std::string& out) {
  out += '[';
  bool is_first = true;
  for (const toml::node& element : array) {
    if (!is_first) out += ',';
    is_first = false;
    if (auto appended = append_json(element, out); !appended) return appended;
  }
  out += ']';
  return Done{};
}

Appended append_table(const toml::table& table, std::string& out) {
  out += '{';
  bool is_first = true;
  for (const auto& [key, value] : table) {
    if (!is_first) out += ',';
    is_first = false;
    faktory::append_json_string(key.str(), out);
    out += ':';
    if (auto appended = append_json(value, out); !appended) return appended;
  }
  out += '}';
  return Done{};
}

/// Negative: it is no time.
std::int64_t seconds_in(const toml::node& value) {
  if (const auto* const number = value.as_integer()) return number->get();
  const auto* const text = value.as_string();
  if (text == nullptr) return -1;
  return parse_whole<std::chrono::seconds>(text->get()).value_or(std::chrono::seconds{-1}).count();
}

/// Reads one `[[cron]]`.
class EntryReader {
 public:
  EntryReader(const ConfigTable& entry, faktory::JobReader& reader)
      : entry_(entry), table_(entry.table()), reader_(reader) {}

  Outcome<CronItem> read() {
    if (auto keys = entry_.check_keys("cron", kKeys); !keys) return keys.error();
    const toml::node* const node = table_.get("job");
    if (node == nullptr) return wrong(table_, "[cron.job] is missing");
    const toml::table* const job = node->as_table();
    if (job == nullptr) return wrong(*node, "write [cron.job], a table, in single brackets");
    if (auto keys = entry_.part(*job).check_keys("cron.job", kJobKeys); !keys) {
      const bool has_time = job->contains("at");
      return Problem{keys.error().text +
                     (has_time ? ": the schedule says when a job is pushed" : "")};
    }
    auto read = read_schedule();
    if (!read) return read.error();
    CronItem& item = *read;
    if (auto choices = read_choices(item); !choices) return choices.error();
    if (auto done = read_job(*job, item); !done) return done.error();
    return identify(item);
  }

 private:
  static constexpr std::string_view kKeys[] = {"schedule", "name",    "timezone", "catch_up",
                                               "job",      "enabled", "jitter"};
  static constexpr std::string_view kJobKeys[] = {"type",        "queue",    "args",      "retry",
                                                  "reserve_for", "priority", "backtrace", "custom"};

  [[nodiscard]] Problem wrong(const toml::node& node, const std::string& why) const {
    return entry_.problem(node, why);
  }

  /// Empty: it is not there.
  [[nodiscard]] Outcome<std::string> read_text(const toml::table& table,
                                               const std::string& key) const {
    const toml::node* const node = table.get(key);
    if (node == nullptr) return std::string{};
    const auto* const text = node->as_string();
    if (text == nullptr) return wrong(*node, key + " must be a string in quotes");
    if (text->get().empty()) return wrong(*node, key + " is empty");
    return text->get();
  }

  [[nodiscard]] Outcome<CronItem> read_schedule() const {
    const auto text = read_text(table_, "schedule");
    if (!text) return text.error();
    if (text->empty()) return wrong(table_, "schedule is missing");
    const auto zone = read_text(table_, "timezone");
    if (!zone) return zone.error();
    if (!zone->empty()) {
      const auto found = cron::TimeZone::find(*zone);
      if (!found) return wrong(*table_.get("timezone"), "timezone: " + found.error().text);
    }
    auto schedule = cron::Schedule::parse(*text, *zone);
    if (!schedule) {
      return wrong(*table_.get("schedule"),
                   "schedule \"" + one_line(*text, 60) + "\": " + schedule.error().text);
    }
    CronItem item{.schedule = *schedule};
    item.schedule_text = *text;
    item.time_zone = *zone;
    return item;
  }

  Outcome<Done> read_choices(CronItem& item) const {
    const auto name = read_text(table_, "name");
    if (!name) return name.error();
    const bool has_control = name->find_first_of(std::string_view("\r\n\t\0", 4)) != name->npos;
    if (name->size() > kCronNameBytesMax || has_control) {
      return wrong(*table_.get("name"), "name must be one line of at most 255 bytes");
    }
    item.id = *name;
    item.is_named = !name->empty();
    const auto catch_up = read_text(table_, "catch_up");
    if (!catch_up) return catch_up.error();
    if (*catch_up == "none") {
      item.catch_up = CatchUp::kNone;
    } else if (*catch_up == "all") {
      item.catch_up = CatchUp::kAll;
    } else if (!catch_up->empty() && *catch_up != "one") {
      return wrong(*table_.get("catch_up"), "catch_up must be \"one\", \"none\" or \"all\"");
    }
    if (const toml::node* const enabled = table_.get("enabled")) {
      if (!enabled->is_boolean()) return wrong(*enabled, "enabled must be true or false");
      item.is_enabled = enabled->as_boolean()->get();
    }
    if (const toml::node* const jitter = table_.get("jitter")) {
      const std::int64_t jitter_s = seconds_in(*jitter);
      if (jitter_s < 0 || jitter_s > static_cast<std::int64_t>(kCronJitterSecondsMax)) {
        return wrong(
            *jitter,
            "jitter must be a whole number of seconds from 0 to 3600, such as 90 or \"1m30s\"");
      }
      item.jitter = std::chrono::seconds(jitter_s);
    }
    return Done{};
  }

  Outcome<Done> read_job(const toml::table& job, CronItem& item) const {
    const auto type = read_text(job, "type");
    if (!type) return type.error();
    if (type->empty()) return wrong(job, "type is missing in [cron.job]");
    const auto queue = read_text(job, "queue");
    if (!queue) return queue.error();
    item.jobtype = *type;
    item.queue = queue->empty() ? std::string(kDefaultQueue) : *queue;
    item.job = "{\"jobtype\":";
    faktory::append_json_string(item.jobtype, item.job);
    item.job += ",\"queue\":";
    faktory::append_json_string(item.queue, item.job);
    auto args = read_json(job, "args", &toml::node::is_array, "a list");
    if (!args) return args.error();
    item.args = args->empty() ? "[]" : *args;
    item.job += ",\"args\":" + item.args;
    item.retry = job["retry"].value<std::int64_t>();
    item.reserve_for = job["reserve_for"].value<std::int64_t>();
    for (const char* key : {"retry", "reserve_for", "priority", "backtrace"}) {
      const auto number = read_json(job, key, &toml::node::is_integer, "a whole number");
      if (!number) return number.error();
      if (!number->empty()) item.job += concat_member(key, *number);
    }
    auto custom = read_json(job, "custom", &toml::node::is_table, "a table");
    if (!custom) return custom.error();
    item.custom = std::move(*custom);
    if (!item.custom.empty()) item.job += concat_member("custom", item.custom);
    item.job += '}';
    return check_by_rules_of_push(job, item.job);
  }

  static std::string concat_member(std::string_view key, std::string_view json) {
    return ",\"" + std::string(key) + "\":" + std::string(json);
  }

  /// Empty: it is not there.
  [[nodiscard]] Outcome<std::string> read_json(const toml::table& table, const std::string& key,
                                               bool (toml::node::*is_right)() const noexcept,
                                               const std::string& right) const {
    const toml::node* const node = table.get(key);
    if (node == nullptr) return std::string{};
    if (!(node->*is_right)()) return wrong(*node, key + " must be " + right);
    std::string json;
    if (auto appended = append_json(*node, json); !appended) {
      return entry_.problem(appended.error().line, key + ": " + appended.error().why);
    }
    return json;
  }

  Outcome<Done> check_by_rules_of_push(const toml::table& job, const std::string& json) const {
    if (const toml::node* const bid = job["custom"]["bid"].node()) {
      return wrong(*bid, "custom.bid: a cron job cannot belong to a batch");
    }
    const std::string whole = "{\"jid\":\"00000000\"," + json.substr(1);
    const auto members = reader_.read(whole);
    if (!members) return wrong(job, members.error().text);
    const auto made = faktory::make_bodiless_job(*members, Time{}, WallClock{}, faktory::no_secret);
    if (!made) return wrong(culprit(job, made.error()), faktory::reply::refusal(made.error()));
    return Done{};
  }

  /// The value that is refused; the job, if it is not there.
  static const toml::node& culprit(const toml::table& job, const faktory::RefusedJob& refused) {
    const auto [name, is_in_custom] = refused.member();
    const auto found = is_in_custom ? job["custom"][name] : job[name];
    return found.node() != nullptr ? *found.node() : job;
  }

  [[nodiscard]] static CronItem identify(CronItem& item) {
    Fnv1a digest;
    for (const std::string* part : {&item.schedule_text, &item.time_zone, &item.job}) {
      digest.add(*part);
      digest.add('\0');
    }
    if (item.id.empty()) item.id = hex(digest.value());
    digest.add(item.is_enabled ? 1 : 0);
    item.content = digest.value();
    return std::move(item);
  }

  const ConfigTable& entry_;
  const toml::table& table_;
  faktory::JobReader& reader_;  ///< kept, since making one takes longer than its use
};

Problem same(const CronItem& item, bool is_named, const std::string& other) {
  if (is_named) {
    return Problem{item.place + ": the entry at " + other + " has the name \"" +
                   one_line(item.id, 60) + "\" too"};
  }
  return Problem{item.place + ": the same entry is at " + other +
                 "; if both are meant, one of them needs a name"};
}

}  // namespace

/// The parser limits the depth of tables, so recursion is safe.
Result<Done, NoJson> append_json(const toml::node& value, std::string& out) {
  if (const auto* array = value.as_array()) return append_array(*array, out);
  if (const auto* table = value.as_table()) return append_table(*table, out);
  if (const auto* string = value.as_string()) {
    faktory::append_json_string(string->get(), out);
  } else if (const auto* number = value.as_integer()) {
    out += std::to_string(number->get());
  } else if (const auto* boolean = value.as_boolean()) {
    out += boolean->get() ? "true" : "false";
  } else if (const auto* fraction = value.as_floating_point();
             fraction != nullptr && std::isfinite(fraction->get())) {
    append_fraction(fraction->get(), out);
  } else {
    const char* const what = fraction != nullptr ? "inf and nan" : "dates and times without quotes";
    return NoJson{std::string("JSON has no ") + what, value.source().begin.line};
  }
  return Done{};
}

Outcome<CronTable> read_cron(std::span<const ConfigDocument> documents) {
  faktory::JobReader reader;
  CronTable table;
  const auto read = [&](const ConfigTable& entry) -> Outcome<Done> {
    auto item = EntryReader(entry, reader).read();
    if (!item) return item.error();
    item->place = entry.place();
    const bool is_named = entry.table().contains("name");
    const auto [found, is_new] = table.places.emplace(item->id, table.items.size());
    if (!is_new) return same(*item, is_named, table.items[found->second].place);
    table.items.push_back(std::move(*item));
    return Done{};
  };
  const auto done = read_entries(documents, std::string(kCronTable), read);
  return done ? Outcome<CronTable>(std::move(table)) : done.error();
}

}  // namespace millrace::server
