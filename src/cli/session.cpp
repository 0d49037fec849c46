#include "cli/session.hpp"

#include <utility>

#include "base/number.hpp"
#include "base/text.hpp"
#include "cli/members.hpp"

namespace millrace::cli {

Exit Session::fail(const Failure& failure) {
  console.complain(failure.text);
  return failure.exit;
}

Exit Session::refuse_usage(const std::string& text) {
  return fail({.exit = Exit::kUsage, .text = text});
}

Exit Session::print_done(const std::string& name, const std::string& text, const Json& json) {
  if (choice.is_json) {
    print(json);
  } else {
    console.print_member(name, text);
  }
  if (console.finish()) return Exit::kDone;
  return fail({.text = "the output could not be written: " + name + " " + text});
}

void Session::print(const Json& json) {
  print_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void Session::print_json(std::string_view text) {
  console.print(harmless_json(text) + "\n");
}

Reply<Answer> each_page(Session& session, const std::string& target,
                        const std::function<bool(const Answer&)>& use) {
  std::string cursor;
  while (true) {
    std::string page = target;
    if (!cursor.empty()) add_parameter(page, "cursor", cursor);
    Reply<Answer> answer = session.api.get(page);
    if (!answer || !use(*answer)) return answer;
    cursor = text_at(answer->json, "next");
    if (cursor.empty()) return answer;
  }
}

Reply<AllRows> read_rows(Session& session, const std::string& target, const char* name,
                         std::uint64_t rows_max) {
  Json rows = Json::array();
  const Reply<Answer> last = each_page(session, target, [&](const Answer& page) {
    for (const Json& row : member(page.json, name)) {
      if (rows.size() < rows_max) rows.push_back(row);
    }
    return rows.size() < rows_max;
  });
  if (!last) return last.error();
  AllRows all{.document = last->json, .now_ms = last->now_ms};
  all.document[name] = std::move(rows);
  return all;
}

Exit show_rows(Session& session, const AllRows& rows, const Table& table, const char* none) {
  if (session.choice.is_json) {
    session.print(rows.document);
  } else if (table.is_empty()) {
    session.console.complain(none);
  } else {
    session.console.print(table.text(session.console.look()));
  }
  return Exit::kDone;
}

void add_filters(std::string& target, const Choice& choice) {
  for (const Filter& filter : choice.filters) add_parameter(target, filter.name, filter.text);
}

void add_filters(Json& members, const Choice& choice) {
  for (const Filter& filter : choice.filters) {
    const auto number = parse_number<std::uint64_t>(filter.text);
    members[filter.name] = filter.is_number ? Json(number.value_or(0)) : Json(filter.text);
  }
}

Reply<AllRows> read_queues(Session& session, const std::string& match) {
  std::string target = "queues?sort=name&limit=200";
  if (!match.empty()) add_parameter(target, "match", match);
  Json queues = Json::array();
  for (std::string from;;) {
    std::string slice = target;
    if (!from.empty()) add_parameter(slice, "from", from);
    Reply<AllRows> rows = read_rows(session, slice, "queues", UINT64_MAX);
    if (!rows) return rows;
    for (Json& queue : rows->document["queues"]) queues.push_back(std::move(queue));
    from = text_at(rows->document, "from");
    if (!from.empty()) continue;
    rows->document["queues"] = std::move(queues);
    return rows;
  }
}

}  // namespace millrace::cli
