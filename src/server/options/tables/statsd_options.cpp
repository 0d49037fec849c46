#include "server/options/tables/statsd_options.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "server/options/config.hpp"
#include "server/options/config_file.hpp"

namespace millrace::server {
namespace {

Outcome<Address> parse_location(const std::string& text) {
  const auto address = parse_address(text);
  if (!address || address->host.empty() || address->port == 0) {
    return Problem{"'" + text + "' is not HOST:PORT"};
  }
  return *address;
}

/// Reads the members of one table.
class StatsdReader {
 public:
  StatsdReader(const ConfigDocument& document, std::vector<IgnoredKey>& ignored)
      : document_(document), ignored_(ignored) {}

  Outcome<StatsdOptions> read(const toml::table& table, const std::string& place) {
    bool has_location = false;
    for (const auto& [key, value] : table) {
      const std::string_view name = key.str();
      has_location = has_location || name == "location";
      if (const auto read = read_member(name, value); !read) {
        return Problem{document_.place(key.source().begin.line) + ": statsd." + std::string(name) +
                       " " + read.error().text};
      }
      if (is_known_) continue;
      ignored_.push_back({.key = "statsd." + one_line(name, kShownKeyBytesMax),
                          .place = document_.place(key.source().begin.line)});
    }
    if (!has_location) return Problem{place + ": statsd.location is missing"};
    return std::move(options_);
  }

 private:
  Outcome<Done> read_member(std::string_view name, const toml::node& value) {
    is_known_ = true;
    if (name == "location") return read_location(value);
    if (name == "namespace") return read_namespace(value);
    if (name == "bufferSize") return read_buffer_size(value);
    if (name == "tags") {
      if (read_names(value, kStatsdTagBytesMax, options_.tags)) return Done{};
      return Problem{"must be a list of texts, of at most 500 bytes together"};
    }
    if (name == "queueLatency") {
      if (read_names(value, kStatsdLatencyBytesMax, options_.latency_queues)) return Done{};
      return Problem{"must be a list of names of queues, of at most 10000 bytes together"};
    }
    is_known_ = false;
    return Done{};
  }

  Outcome<Done> read_location(const toml::node& value) {
    const auto* const text = value.as_string();
    if (text == nullptr) return Problem{"must be \"HOST:PORT\""};
    const auto address = parse_location(text->get());
    if (!address) return Problem{"is wrong: " + address.error().text};
    options_.location = *address;
    return Done{};
  }

  Outcome<Done> read_namespace(const toml::node& value) {
    const auto* const text = value.as_string();
    if (text == nullptr || text->get().size() > kStatsdNamespaceBytesMax) {
      return Problem{"must be a text in quotes, of at most 100 bytes"};
    }
    options_.name_space = text->get();
    return Done{};
  }

  Outcome<Done> read_buffer_size(const toml::node& value) {
    const auto* const number = value.as_integer();
    const auto max = static_cast<std::int64_t>(kStatsdBufferSizeMax);
    if (number == nullptr || number->get() < 1 || number->get() > max) {
      return Problem{"must be a whole number from 1 to 1000"};
    }
    options_.buffer_size = static_cast<std::size_t>(number->get());
    return Done{};
  }

  static bool read_names(const toml::node& value, std::size_t bytes_max,
                         std::vector<std::string>& names) {
    const auto* const list = value.as_array();
    if (list == nullptr) return false;
    std::size_t bytes = 0;
    for (const toml::node& each : *list) {
      const auto* const text = each.as_string();
      if (text == nullptr) return false;
      bytes += text->get().size() + 1;
      if (bytes > bytes_max + 1) return false;
      names.push_back(text->get());
    }
    return true;
  }

  const ConfigDocument& document_;
  std::vector<IgnoredKey>& ignored_;
  StatsdOptions options_;
  bool is_known_ = false;  ///< the last member
};

}  // namespace

Outcome<std::optional<StatsdOptions>> read_statsd(std::span<const ConfigDocument> documents,
                                                  std::vector<IgnoredKey>& ignored) {
  std::optional<StatsdOptions> options;
  std::string first;
  for (const ConfigDocument& document : documents) {
    const toml::node* const node = document.root().get(kStatsdTable);
    if (node == nullptr) continue;
    const std::string place = document.place(node->source().begin.line);
    const toml::table* const table = node->as_table();
    if (table == nullptr) return Problem{place + ": statsd must be a table"};
    if (options) return Problem{place + ": [statsd] is also at " + first};
    auto read = StatsdReader(document, ignored).read(*table, place);
    if (!read) return read.error();
    options = std::move(*read);
    first = place;
  }
  return options;
}

Outcome<StatsdOptions> statsd_at(std::string_view url) {
  constexpr std::string_view kScheme = "udp://";
  if (!url.starts_with(kScheme)) return Problem{"it is not udp://HOST:PORT"};
  url.remove_prefix(kScheme.size());
  if (url.ends_with('/')) url.remove_suffix(1);
  // The port that all agents have.
  const std::string_view after_host = url.substr(std::min(url.rfind(']'), url.size()));
  const bool has_port = (after_host.empty() ? url : after_host).find(':') != url.npos;
  const auto address = parse_location(std::string(url) + (has_port ? "" : ":8125"));
  if (!address) return address.error();
  return StatsdOptions{.location = *address};
}

}  // namespace millrace::server
