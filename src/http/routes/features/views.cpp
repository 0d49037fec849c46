#include <string>
#include <utility>

#include "base/text.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"

/// Searches of jobs that people share, by name. The query is a line as the web UI reads it.
namespace millrace::http {
namespace {

Json show(std::string_view name, std::string_view query) {
  return {{"name", name}, {"query", query}};
}

Response say_no_view() {
  return refuse(404, "no such view");
}

/// Saves the query, or removes the view with an empty one, unless somebody else has changed it.
Response change_view(const Call& call, const std::string& query) {
  const std::string before(call.site.broker.view().saved_views().find(call.name));
  const auto was = call.request.members.find("was");
  const bool is_given = was != call.request.members.end() && !was->is_null();
  if (is_given && !was->is_string()) return refuse(400, "was is not a string");
  if (is_given && *was != before) {
    return refuse(409, before.empty() ? "somebody has deleted the view: reload the page"
                       : *was == ""   ? "there is a view of this name already"
                                      : "somebody has changed the view: reload the page");
  }
  const Answer<Done> done = call.site.broker.admin().save_view(call.name, query);
  if (!done && done.error() == Refusal::kNotFound) return say_no_view();
  if (!done && done.error() == Refusal::kNoRoom) return refuse_for_room();
  if (!done) {
    return refuse(
        409, concat(SavedViews::kCountMax, " views are saved, and no more can be: delete some"));
  }
  return {.body = dump(show(call.name, query.empty() ? before : query)),
          .is_change = true,
          .changed = concat(before.empty() ? "no view" : before, " → ",
                            query.empty() ? "deleted" : query)};
}

}  // namespace

Response list_views(const Call& call) {
  Json views = Json::array();
  call.site.broker.view().saved_views().each(
      [&](const ViewSaved& view) { views.push_back(show(view.name, view.query)); });
  return {.body = dump({{"views", std::move(views)}, {"limit", SavedViews::kCountMax}})};
}

Response show_view(const Call& call) {
  const std::string_view query = call.site.broker.view().saved_views().find(call.name);
  if (query.empty()) return say_no_view();
  return {.body = dump(show(call.name, query))};
}

Response set_view(const Call& call) {
  const std::string query = read_text(call.request.members, "query");
  if (query.empty()) return refuse(400, "query is not a text, or empty");
  if (query.size() > ViewSaved::kQueryBytesMax) {
    return refuse(400, concat("query has more than ", ViewSaved::kQueryBytesMax, " bytes"));
  }
  if (call.name.size() > ViewSaved::kNameBytesMax) {
    return refuse(400, concat("a name has at most ", ViewSaved::kNameBytesMax, " bytes"));
  }
  if (harmless(call.name) != call.name) {
    return refuse(400, "a name is one line of UTF-8 that people can read");
  }
  return change_view(call, query);
}

Response delete_view(const Call& call) {
  if (call.name.size() > ViewSaved::kNameBytesMax) return say_no_view();
  return change_view(call, "");
}

}  // namespace millrace::http
