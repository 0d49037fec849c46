#include "faktory/session/long_report.hpp"

#include <array>

#include "core/model/job.hpp"
#include "core/model/types.hpp"

namespace millrace::faktory {
namespace {

/// Of all four commands. What a member of one is called means nothing to the others.
constexpr std::array<std::string_view, 10> kNames = {
    "jid",           "errtype", "message", "backtrace", "wid",
    "current_state", "rss_kb",  "percent", "desc",      "reserve_until"};

}  // namespace

// The texts are longer than what is stored of any, with each byte written as \u0041.
const Compactor::Extract LongReport::kExtract{.names = kNames,
                                              .text_bytes_max = 8 * 1024,
                                              .entries_max = kBacktraceLinesMax,
                                              .bytes_max = 1024 * 1024};

void LongReport::add(std::string_view bytes) {
  bytes_ += bytes.size();
  if (verb_.empty()) {
    const std::size_t object = bytes.find('{');
    verb_ = bytes.substr(0, object);
    bytes.remove_prefix(verb_.size());
  }
  if (problem_) return;
  if (const Outcome<Done> taken = compactor_.add(bytes); !taken) problem_ = taken.error();
}

std::string LongReport::finish() {
  if (!problem_) {
    if (const Outcome<Done> whole = compactor_.finish(); !whole) problem_ = whole.error();
  }
  if (problem_) return verb_ + problem_->text;
  kept_.copy(0, kept_.size(), verb_);
  return std::move(verb_);
}

}  // namespace millrace::faktory
