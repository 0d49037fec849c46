#include "cli/top/top_view.hpp"

#include "cli/show/width.hpp"
#include "support/doctest.hpp"

namespace millrace::cli {
namespace {

Json a_queue(const char* name, unsigned ready, bool is_paused = false) {
  return {{"name", name},           {"ready", ready},
          {"reserved", 0},          {"scheduled", 0},
          {"retrying", 0},          {"dead", 0},
          {"enqueued_per_s", 0.0},  {"processed_per_s", ready},
          {"is_paused", is_paused}, {"is_served", true}};
}

TopData some_data() {
  TopData data;
  data.overview = {{"version", "1"}, {"health", {{"level", "good"}, {"text", "All is well"}}}};
  data.queues = Json::array({a_queue("a", 1), a_queue("B", 3), a_queue("c", 2, true)});
  data.holders = {{.name = "worker-1", .state = "running", .jobs = 1, .runs = "Mail", .since = {}}};
  return data;
}

}  // namespace

TEST_CASE("top: queues are in the order and pass the filter that was chosen") {
  const TopData data = some_data();
  using Names = std::vector<std::string>;
  CHECK(shown_queues(data, {}) == Names{"B", "c", "a"});
  CHECK(shown_queues(data, {.order = 5}) == Names{"a", "B", "c"});
  CHECK(shown_queues(data, {.filter = "b"}) == Names{"B"});
}

TEST_CASE("top: the lines are as many as the rows, and no line is too long") {
  const TopData data = some_data();
  for (const std::size_t rows : {1, 5, 9, 24, 100}) {
    for (const std::size_t columns : {1, 20, 80}) {
      const auto lines = top_lines(data, {}, {.rows = rows, .columns = columns}, "http://x");
      CHECK(lines.size() == rows);
      for (std::size_t i = 4; i + 1 < lines.size(); ++i) {
        CHECK(display_width(lines[i].text) <= columns);
      }
    }
  }
}

TEST_CASE("top: of the keys those are shown that fit") {
  const auto keys = [](std::size_t columns) {
    return top_lines(some_data(), {}, {.rows = 24, .columns = columns}, "").back().text;
  };
  CHECK(keys(80) == "q quit   s sort   / filter   p pause or resume   arrows choose a queue");
  CHECK(keys(50) == "q quit   s sort   / filter   p pause or resume");
  CHECK(keys(20) == "q quit   s sort");
  CHECK(keys(5).empty());
}

TEST_CASE("top: the chosen queue is marked, and stays in sight") {
  TopData data = some_data();
  for (int i = 0; i < 100; ++i)
    data.queues.push_back(a_queue(("q" + std::to_string(i)).c_str(), 0));
  const auto lines = top_lines(data, {.order = 5, .queue = "q99"}, {}, "http://x");
  int marked = 0;
  for (const Screen::Line& line : lines) {
    if (!line.is_marked) continue;
    ++marked;
    CHECK(line.text.starts_with("q99 "));
  }
  CHECK(marked == 1);
}

TEST_CASE("top: nothing of others is obeyed by the terminal") {
  TopData data = some_data();
  data.queues.push_back(a_queue("\x1b[31m", 9));
  data.overview["health"]["text"] = "\x1b[31m";
  for (const Screen::Line& line : top_lines(data, {.filter = "\x1b"}, {}, "http://x")) {
    CHECK(line.text.find('\x1b') == std::string::npos);
  }
}

}  // namespace millrace::cli
