#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "cli/api.hpp"
#include "cli/choice.hpp"
#include "cli/show/console.hpp"
#include "cli/show/table.hpp"

namespace millrace::cli {

/// What a verb works with. Its parts outlive it.
struct Session {
  const Choice& choice;
  Api& api;
  Console& console;

  /// Tells of the failure, and gives its status.
  Exit fail(const Failure& failure);
  Exit refuse_usage(const std::string& text);
  /// As one document, with a newline.
  void print(const Json& json);
  /// The same for an answer as it came.
  void print_json(std::string_view text);
  /// What was done: with --json as a document, else as a member. It cannot be undone. So stderr has
  /// it where stdout does not take it.
  Exit print_done(const std::string& name, const std::string& text, const Json& json);
};

/// Asks for page after page. `use` gets each, and says whether the next one is wanted. `next` in a
/// page is the cursor of the following one. The last page; a failure ends it.
[[nodiscard]] Reply<Answer> each_page(Session& session, const std::string& target,
                                      const std::function<bool(const Answer&)>& use);

/// The rows of all pages under that name, up to `rows_max`; the rest of the document is that of the
/// last page.
struct AllRows {
  Json document;
  std::int64_t now_ms = 0;  ///< the server's clock
};
[[nodiscard]] Reply<AllRows> read_rows(Session& session, const std::string& target,
                                       const char* name, std::uint64_t rows_max);

/// Prints the document with --json, else the table, else what is said when there are no rows.
[[nodiscard]] Exit show_rows(Session& session, const AllRows& rows, const Table& table,
                             const char* none);

/// The same filters as a query adds them, and as an operation has them.
void add_filters(std::string& target, const Choice& choice);
void add_filters(Json& members, const Choice& choice);

/// All queues by name: the server answers in slices, and each slice in pages. `match`: those whose
/// names have this part; empty: all.
[[nodiscard]] Reply<AllRows> read_queues(Session& session, const std::string& match);

}  // namespace millrace::cli
