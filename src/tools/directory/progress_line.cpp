#include "tools/directory/progress_line.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "http/kit/text.hpp"

namespace millrace::tools {
namespace {

constexpr std::chrono::seconds kFirstShown{1};
constexpr std::chrono::milliseconds kShownEvery{250};

std::string number_of(std::uint64_t count, ProgressLine::Unit unit) {
  constexpr int kMebibyteBits = 20;
  return http::grouped(unit == ProgressLine::Unit::kBytes ? count >> kMebibyteBits : count);
}

std::string count_of(std::uint64_t count, ProgressLine::Unit unit) {
  return unit == ProgressLine::Unit::kBytes ? number_of(count, unit) + " MiB"
                                            : http::count_of(count, "job");
}

}  // namespace

ProgressLine::ProgressLine(std::string done_word, std::uint64_t all, Unit unit)
    : done_word_(std::move(done_word)), all_(all), unit_(unit), next_at_(began_ + kFirstShown) {}

void ProgressLine::show(std::uint64_t done) {
  const Steady::time_point now = Steady::now();
  if (now < next_at_) return;
  next_at_ = now + kShownEvery;
  console_.show_progress(progress_text(done_word_, done, all_, now - began_, unit_));
}

std::string progress_text(const std::string& done_word, std::uint64_t done, std::uint64_t all,
                          std::chrono::duration<double> took, ProgressLine::Unit unit) {
  if (all == 0) return done_word + " " + count_of(done, unit);
  done = std::min(done, all);
  const auto part = static_cast<double>(done) / static_cast<double>(all);
  std::string text = done_word + " " + number_of(done, unit) + " of " + count_of(all, unit) + ", " +
                     std::to_string(static_cast<int>(part * 100)) + " %";
  if (done == 0 || done == all) return text;
  const double left = took.count() / part - took.count();
  return text + ", about " + http::grouped(static_cast<std::uint64_t>(std::ceil(left))) + " s left";
}

}  // namespace millrace::tools
