#include "cli/top/top_view.hpp"

#include <algorithm>
#include <cstdio>

#include "base/text.hpp"
#include "cli/members.hpp"
#include "cli/show/table.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

using Line = Screen::Line;
using Side = Table::Side;

constexpr std::size_t kHeadLines = 4;
constexpr std::size_t kWorkersMin = 4;

double number_at(const Json& queue, const char* name) {
  const Json& found = member(queue, name);
  return found.is_number() ? found.get<double>() : 0;
}

/// Greater ones come first.
bool comes_before(const Json& a, const Json& b, const std::string& order) {
  if (order == "ready") return count_at(a, "ready") > count_at(b, "ready");
  if (order == "dead") return count_at(a, "dead") > count_at(b, "dead");
  if (order == "in/s") return number_at(a, "enqueued_per_s") > number_at(b, "enqueued_per_s");
  if (order == "out/s") return number_at(a, "processed_per_s") > number_at(b, "processed_per_s");
  if (order == "oldest") {
    const std::string at_a = text_at(a, "oldest_ready_at");
    const std::string at_b = text_at(b, "oldest_ready_at");
    return at_a.empty() != at_b.empty() ? at_b.empty() : at_a < at_b;
  }
  return false;
}

std::vector<Json> matching_queues(const TopData& data, const TopChoice& choice) {
  std::vector<Json> queues;
  for (const Json& queue : data.queues) {
    if (contains_ignoring_case(text_at(queue, "name"), choice.filter)) queues.push_back(queue);
  }
  // They come by name, and stay so among equals.
  const std::string order = kTopOrders[choice.order];
  std::stable_sort(queues.begin(), queues.end(),
                   [&](const Json& a, const Json& b) { return comes_before(a, b, order); });
  return queues;
}

std::string megabytes(std::uint64_t bytes) {
  return http::grouped(bytes >> 20) + " MiB";
}

std::string sync_text(const TopData& data) {
  if (!data.commit_ms) return "nothing kept";
  char text[32];
  std::snprintf(text, sizeof text, *data.commit_ms < 10 ? "sync %.2f ms" : "sync %.0f ms",
                *data.commit_ms);
  return text;
}

void add_head(const TopData& data, const TopChoice& choice, const std::string& url,
              std::vector<Line>& lines) {
  const Json& health = member(data.overview, "health");
  const std::string level = text_at(health, "level");
  const Color color = level == "trouble"  ? Color::kRed
                      : level == "notice" ? Color::kYellow
                                          : Color::kGreen;
  lines.push_back({"Millrace " + text_at(data.overview, "version") + " at " + url + "  " +
                       text_at(health, "text"),
                   color});
  const Json& jobs = member(data.overview, "jobs");
  std::string counts;
  for (const char* state : {"ready", "reserved", "scheduled", "retrying", "dead"}) {
    counts += (counts.empty() ? "" : ", ") + figure_at(jobs, state) + " " + state;
  }
  lines.push_back({counts});
  const Json& rates = member(data.overview, "per_s");
  lines.push_back({rate_at(rates, "enqueued") + " in/s, " + rate_at(rates, "processed") +
                   " out/s, " + rate_at(rates, "failed") + " fail/s  " + sync_text(data) +
                   ", memory " + megabytes(count_at(data.server, "memory_bytes"))});
  if (choice.is_typing) {
    lines.push_back({"filter: " + choice.filter + "_", Color::kBold});
  } else if (!choice.message.empty()) {
    lines.push_back({choice.message, Color::kYellow});
  } else if (!choice.filter.empty()) {
    lines.push_back({"queues with \"" + choice.filter + "\"", Color::kDim});
  } else {
    // In the table it may be cut.
    lines.push_back({choice.queue, Color::kDim});
  }
}

/// Each row of a table as a line, its titles first.
std::vector<std::string> rows_of(const Table& table, std::size_t columns) {
  std::vector<std::string> rows;
  const std::string text = table.text({.columns = columns});
  for (std::string_view rest = text; !rest.empty();) rows.emplace_back(take_line(rest));
  return rows;
}

/// `all`: how many queues there are, if these are not all.
Table queue_table(const std::vector<Json>& queues, std::size_t all, const TopData& data,
                  const std::string& order) {
  const auto title = [&](const char* name) {
    return name == order ? name + std::string("*") : name;
  };
  const std::string part =
      queues.size() < all ? ", " + http::grouped(queues.size()) + " of " + http::grouped(all) : "";
  Table table({{.title = title("name") + part, .cut = Table::Cut::kMiddle},
               {title("ready"), Side::kRight},
               {.title = title("oldest"), .side = Side::kRight, .rank = 2},
               {.title = "running", .side = Side::kRight, .rank = 1},
               {.title = "later", .side = Side::kRight, .rank = 6},
               {.title = title("dead"), .side = Side::kRight, .rank = 3},
               {.title = title("in/s"), .side = Side::kRight, .rank = 5},
               {.title = title("out/s"), .side = Side::kRight, .rank = 4},
               {.title = "fail/s", .side = Side::kRight, .rank = 7},
               {""}});
  for (const Json& queue : queues) {
    const bool is_idle = count_at(queue, "ready") > 0 && !is_at(queue, "is_served");
    table.add({{text_at(queue, "name")},
               {figure_at(queue, "ready")},
               {age_at(queue, "oldest_ready_at", data.now_ms)},
               {figure_at(queue, "reserved")},
               {http::grouped(count_at(queue, "scheduled") + count_at(queue, "retrying"))},
               {figure_at(queue, "dead")},
               {rate_at(queue, "enqueued_per_s")},
               {rate_at(queue, "processed_per_s")},
               {rate_at(queue, "failed_per_s")},
               {is_at(queue, "is_paused") ? "paused"
                : is_idle                 ? "idle"
                                          : ""}});
  }
  return table;
}

/// `rows`: with the titles.
void add_queues(const std::vector<Json>& queues, const TopData& data, const TopChoice& choice,
                TopSize size, std::vector<Line>& lines) {
  const auto marked = std::find_if(queues.begin(), queues.end(), [&](const Json& queue) {
    return text_at(queue, "name") == choice.queue;
  });
  const std::size_t mark =
      marked == queues.end() ? 0 : static_cast<std::size_t>(marked - queues.begin());
  const std::size_t shown = size.rows - 1;
  const std::size_t first = mark < shown ? 0 : mark - shown + 1;
  const std::size_t last = std::min(queues.size(), first + shown);
  const std::vector<Json> part(queues.begin() + static_cast<std::ptrdiff_t>(first),
                               queues.begin() + static_cast<std::ptrdiff_t>(last));
  const auto rows =
      rows_of(queue_table(part, queues.size(), data, kTopOrders[choice.order]), size.columns);
  for (std::size_t i = 0; i < size.rows; ++i) {
    if (i >= rows.size()) {
      lines.push_back({});
    } else if (i == 0) {
      lines.push_back({rows[i], Color::kBold});
    } else {
      const bool is_paused = is_at(part[i - 1], "is_paused");
      lines.push_back({rows[i], is_paused ? Color::kYellow : Color::kPlain, first + i - 1 == mark});
    }
  }
}

void add_holders(const TopData& data, TopSize size, std::vector<Line>& lines) {
  Table table({{.title = "worker", .cut = Table::Cut::kMiddle},
               {"state"},
               {"jobs", Side::kRight},
               {"for", Side::kRight},
               {"runs"}});
  for (const TopHolder& holder : data.holders) {
    const Json since{{"since", holder.since}};
    table.add({{holder.name},
               {holder.state},
               {http::grouped(holder.jobs)},
               {age_at(since, "since", data.now_ms)},
               {holder.runs}});
  }
  const auto rows = rows_of(table, size.columns);
  for (std::size_t i = 0; i < size.rows; ++i) {
    lines.push_back({i < rows.size() ? rows[i] : "", i == 0 ? Color::kBold : Color::kPlain});
  }
}

/// The keys that fit into the line.
std::string keys_text(std::size_t columns) {
  std::string text;
  for (const std::string_view key :
       {"q quit", "s sort", "/ filter", "p pause or resume", "arrows choose a queue"}) {
    const std::string more = (text.empty() ? "" : "   ") + std::string(key);
    if (text.size() + more.size() <= columns) text += more;
  }
  return text;
}

}  // namespace

std::vector<std::string> shown_queues(const TopData& data, const TopChoice& choice) {
  std::vector<std::string> names;
  for (const Json& queue : matching_queues(data, choice)) names.push_back(text_at(queue, "name"));
  return names;
}

std::vector<Line> top_lines(const TopData& data, const TopChoice& choice, TopSize size,
                            const std::string& url) {
  std::vector<Line> lines;
  add_head(data, choice, url, lines);
  for (Line& line : lines) line.text = harmless(line.text);
  const std::vector<Json> queues = matching_queues(data, choice);
  // Titles of both tables, a row of each, and the line of the keys.
  const std::size_t room = std::max(size.rows, kHeadLines + 5) - kHeadLines - 1;
  const std::size_t wanted = data.holders.size() + 1;
  const std::size_t left = room - std::min(room - 2, queues.size() + 1);
  const std::size_t workers = std::min({wanted, std::max({left, room / 3, kWorkersMin}), room - 2});
  add_queues(queues, data, choice, {.rows = room - workers, .columns = size.columns}, lines);
  add_holders(data, {.rows = workers, .columns = size.columns}, lines);
  lines.push_back({keys_text(size.columns), Color::kDim});
  // On a low screen the keys are the last to go.
  if (lines.size() > size.rows) lines.resize(size.rows);
  return lines;
}

}  // namespace millrace::cli
