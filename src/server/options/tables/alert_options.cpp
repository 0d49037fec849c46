#include "server/options/tables/alert_options.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "base/duration.hpp"
#include "base/text.hpp"
#include "faktory/job/glob.hpp"
#include "http/routes/attention.hpp"
#include "server/options/password.hpp"
#include "server/options/throttle_options.hpp"

namespace millrace::server {
namespace {

using Condition = http::AlertCondition;
using Form = http::AlertRule::Form;

constexpr std::size_t kNameBytesMax = 64;
constexpr std::size_t kUrlBytesMax = 2'000;
constexpr std::string_view kPagerDuty = "https://events.pagerduty.com/v2/enqueue";
constexpr std::array kForms = {std::pair{"json", Form::kJson}, std::pair{"slack", Form::kSlack},
                               std::pair{"pagerduty", Form::kPagerDuty}};
constexpr std::array<std::string_view, 9> kKeys = {
    "name", "form", "url", "url-file", "secret-file", "routing-key-file", "on", "for", "repeat"};

bool is_word(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_'; });
}

/// A problem says nothing of the URL itself, which may be a secret.
Outcome<Done> read_url(std::string_view url, AlertOptions& alert) {
  const auto is_printed = [](char c) { return c > ' ' && c <= '~'; };
  alert.is_https = url.starts_with("https://");
  const bool is_url = alert.is_https || url.starts_with("http://");
  if (!is_url || url.size() > kUrlBytesMax || !std::ranges::all_of(url, is_printed)) {
    return Problem{"must be http:// or https://, a host and a path"};
  }
  url.remove_prefix(url.find("//") + 2);
  url = url.substr(0, url.find('#'));
  const std::string_view host = url.substr(0, url.find_first_of("/?"));
  if (host.find('@') != host.npos) return Problem{"must have no user and no password"};
  const bool has_port =
      host.substr(std::min(host.rfind(']') + 1, host.size())).find(':') != host.npos;
  const char* const port = has_port ? "" : alert.is_https ? ":443" : ":80";
  auto address = parse_address(std::string(host) + port);
  if (!address || address->host.empty() || address->port == 0 || address->is_unix()) {
    return Problem{"must have a host, and a port from 1 to 65535 if any"};
  }
  alert.address = std::move(*address);
  alert.target = url.substr(host.size());
  if (!alert.target.starts_with('/')) alert.target.insert(0, 1, '/');
  alert.rule.receiver = (alert.is_https ? "https://" : "http://") + alert.host();
  return Done{};
}

/// Reads one `[[alert]]`.
class AlertReader {
 public:
  explicit AlertReader(const ConfigTable& entry) : entry_(entry), table_(entry.table()) {}

  Outcome<AlertOptions> read() {
    AlertOptions alert;
    alert.place = entry_.place();
    if (auto keys = entry_.check_keys("alert", kKeys); !keys) return keys.error();
    std::string form;
    std::string url;
    for (const auto& [key, text] : {std::pair{"name", &alert.rule.name},
                                    {"form", &form},
                                    {"url", &url},
                                    {"url-file", &alert.url_file},
                                    {"secret-file", &alert.secret_file},
                                    {"routing-key-file", &alert.routing_key_file}}) {
      if (auto read = read_text(table_, key, *text); !read) return read.error();
    }
    const std::string& name = alert.rule.name;
    if (name.empty() || name.size() > kNameBytesMax || !is_word(name)) {
      return problem(at("name"), "name must be 1 to 64 letters, digits, - and _");
    }
    if (auto read = read_receiver(alert, form, url); !read) return read.error();
    if (auto read = read_time("for", 24h, alert.rule.hold); !read) return read.error();
    if (auto read = read_time("repeat", 365 * 24h, alert.rule.repeat); !read) return read.error();
    if (auto read = read_conditions(alert.rule.conditions); !read) return read.error();
    return alert;
  }

 private:
  [[nodiscard]] Problem problem(const toml::node& node, const std::string& why) const {
    return entry_.problem(node, "alert: " + why);
  }
  [[nodiscard]] const toml::node& at(std::string_view key) const { return entry_.at(key); }

  Outcome<Done> read_text(const toml::table& table, std::string_view key, std::string& text) const {
    const toml::node* const node = table.get(key);
    if (node == nullptr) return Done{};
    if (!node->is_string() || node->as_string()->get().empty()) {
      return problem(*node, std::string(key) + " must be a text in quotes");
    }
    text = node->as_string()->get();
    return Done{};
  }

  Outcome<Done> read_receiver(AlertOptions& alert, const std::string& form, std::string url) const {
    const auto* const found = std::ranges::find_if(
        kForms, [&](const auto& each) { return form == each.first || form.empty(); });
    if (found == kForms.end()) {
      return problem(at("form"), R"(form must be "json", "slack" or "pagerduty")");
    }
    alert.rule.form = found->second;
    const bool is_pager_duty = alert.rule.form == Form::kPagerDuty;
    if (is_pager_duty == alert.routing_key_file.empty()) {
      return problem(table_, "routing-key-file is needed for pagerduty, and for nothing else");
    }
    if (!url.empty() && !alert.url_file.empty()) {
      return problem(at("url-file"), "url and url-file contradict each other");
    }
    if (url.empty() && alert.url_file.empty() && is_pager_duty) url = kPagerDuty;
    if (url.empty() && alert.url_file.empty()) return problem(table_, "url is missing");
    if (url.empty()) return Done{};
    if (auto read = read_url(url, alert); !read) {
      return problem(at("url"), "url " + read.error().text);
    }
    return Done{};
  }

  Outcome<Done> read_time(const char* key, Duration max, Duration& time) const {
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return Done{};
    const auto seconds = seconds_in(*node);
    if (!seconds || *seconds > max) {
      return problem(*node, std::string(key) + " must be a time in whole seconds, such as \"5m\"");
    }
    time = *seconds;
    return Done{};
  }

  static std::optional<std::chrono::seconds> seconds_in(const toml::node& node) {
    const auto* const text = node.as_string();
    return text != nullptr ? parse_whole<std::chrono::seconds>(text->get()) : std::nullopt;
  }

  Outcome<Done> read_conditions(std::vector<Condition>& conditions) const {
    const toml::array* const list = at("on").as_array();
    if (list == nullptr || list->empty() || list->size() > http::kAlertConditionsMax) {
      return problem(at("on"), R"(on must be a list of 1 to 20 conditions, such as ["disk"])");
    }
    for (const toml::node& each : *list) {
      auto condition = each.is_table() ? read_table(*each.as_table()) : read_word(each);
      if (!condition) return condition.error();
      const auto is_same = [&](const Condition& other) { return other.text == condition->text; };
      if (std::ranges::any_of(conditions, is_same)) return problem(each, "on has one twice");
      conditions.push_back(std::move(*condition));
    }
    return Done{};
  }

  [[nodiscard]] Outcome<Condition> read_word(const toml::node& node) const {
    const std::string word = node.value_or(std::string());
    if (word == "takeover") return Condition{.text = word, .kind = Condition::Kind::kTakeover};
    if (std::ranges::find(http::kConcernKinds, word) == http::kConcernKinds.end()) {
      std::string known;
      for (const std::string_view each : http::kConcernKinds) known += std::string(each) + ", ";
      return problem(node, "unknown condition '" + one_line(word, kShownKeyBytesMax) +
                               "'; there are " + known + "takeover, and tables");
    }
    return Condition{.text = word, .concern = word};
  }

  /// `{queue = "mail*", latency = "5m"}`, `{queue = "mail*", kind = "abandoned"}` or
  /// `{dead = 100, within = "10m"}`.
  [[nodiscard]] Outcome<Condition> read_table(const toml::table& table) const {
    const bool is_dead = table.contains("dead");
    const char* const first = is_dead ? "dead" : "queue";
    const char* const second = is_dead ? "within" : table.contains("latency") ? "latency" : "kind";
    const toml::node* const node = table.get(second);
    if (table.size() != 2 || !table.contains(first) || node == nullptr) {
      return problem(table,
                     "a condition is a word, or has queue and latency, queue and kind, or "
                     "dead and within");
    }
    const auto span = seconds_in(*node);
    const bool has_span = span && *span >= 1s && *span <= (is_dead ? 1h : 365 * 24h);
    if (second != std::string_view("kind") && !has_span) {
      return problem(*node, std::string(second) +
                                " must be a time in whole seconds, such as "
                                "\"5m\"" +
                                (is_dead ? ", up to 1h" : ""));
    }
    const std::string text = node->value_or(std::string());
    if (is_dead) {
      const std::int64_t dead = table["dead"].value_or(std::int64_t{0});
      if (dead < 1) return problem(table, "dead must be a whole number from 1");
      return Condition{.text = std::to_string(dead) + " dead in " + text,
                       .kind = Condition::Kind::kDead,
                       .span = *span,
                       .dead = static_cast<std::uint64_t>(dead)};
    }
    std::string queue;
    if (auto read = read_text(table, "queue", queue); !read) return read.error();
    if (queue.size() > kQueueNameBytesMax || has_open_bracket(queue) || !may_match_queue(queue)) {
      return problem(table, "no queue has such a name");
    }
    // Shared by the copies of the function.
    const auto glob = std::make_shared<faktory::Glob>(queue);
    // Most queues differ in the beginning, which takes less to see.
    const std::string prefix = queue.substr(0, queue.find_first_of("*?[\\"));
    const auto has_queue = [glob, prefix](std::string_view name) {
      return name.starts_with(prefix) && matches(*glob, name);
    };
    if (second == std::string_view("latency")) {
      return Condition{.text = "latency of " + queue + " over " + text,
                       .kind = Condition::Kind::kLatency,
                       .has_queue = has_queue,
                       .span = *span};
    }
    if (text != "abandoned" && text != "paused") {
      return problem(*node, R"(the kind of a queue must be "abandoned" or "paused")");
    }
    return Condition{.text = queue + " " + text, .concern = text, .has_queue = has_queue};
  }

  const ConfigTable& entry_;
  const toml::table& table_;
};

}  // namespace

std::string AlertOptions::host() const {
  const std::string text = address.text();
  const bool is_usual = address.port == (is_https ? 443 : 80);
  return is_usual ? text.substr(0, text.rfind(':')) : text;
}

Outcome<std::vector<AlertOptions>> read_alerts(std::span<const ConfigDocument> documents) {
  std::vector<AlertOptions> alerts;
  const auto read = [&](const ConfigTable& entry) -> Outcome<Done> {
    auto alert = AlertReader(entry).read();
    if (!alert) return alert.error();
    for (const AlertOptions& other : alerts) {
      if (other.rule.name != alert->rule.name) continue;
      return Problem{alert->place + ": the alert at " + other.place + " has the name \"" +
                     other.rule.name + "\" too"};
    }
    if (alerts.size() == http::kAlertsMax) {
      return Problem{alert->place + ": more than 20 [[alert]]"};
    }
    alerts.push_back(std::move(*alert));
    return Done{};
  };
  const auto done = read_entries(documents, std::string(kAlertTable), read);
  return done ? Outcome<std::vector<AlertOptions>>(std::move(alerts)) : done.error();
}

Outcome<std::vector<AlertOptions>> read_alert_secrets(std::vector<AlertOptions> alerts,
                                                      const Log& log) {
  for (AlertOptions& alert : alerts) {
    std::string url;
    for (const auto& [file, text] : {std::pair{&alert.url_file, &url},
                                     {&alert.secret_file, &alert.secret},
                                     {&alert.routing_key_file, &alert.rule.routing_key}}) {
      if (file->empty()) continue;
      auto read = read_password_file(*file, log, "secret file");
      if (!read) return Problem{alert.place + ": alert: " + read.error().text};
      *text = std::move(*read);
    }
    if (url.empty()) continue;
    if (auto read = read_url(url, alert); !read) {
      return Problem{alert.place + ": alert: the URL in " + alert.url_file + " " +
                     read.error().text};
    }
  }
  return alerts;
}

}  // namespace millrace::server
