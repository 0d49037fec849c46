#include "server/tools/progress_line.hpp"

#include <cmath>
#include <utility>

#include "http/kit/text.hpp"

namespace millrace::server {
namespace {

constexpr std::chrono::seconds kFirstShown{1};
constexpr std::chrono::milliseconds kShownEvery{250};

}  // namespace

ProgressLine::ProgressLine(std::string done_word, std::uint64_t all)
    : done_word_(std::move(done_word)), all_(all), next_at_(began_ + kFirstShown) {}

void ProgressLine::show(std::uint64_t done) {
  const Steady::time_point now = Steady::now();
  if (now < next_at_) return;
  next_at_ = now + kShownEvery;
  console_.show_progress(progress_text(done_word_, done, all_, now - began_));
}

std::string progress_text(const std::string& done_word, std::uint64_t done, std::uint64_t all,
                          std::chrono::duration<double> took) {
  if (all == 0) return done_word + " " + http::count_of(done, "job");
  std::string text = done_word + " " + http::grouped(done) + " of " + http::count_of(all, "job") +
                     ", " + std::to_string(done * 100 / all) + " %";
  if (done == 0 || done >= all) return text;
  const double left = took.count() * static_cast<double>(all - done) / static_cast<double>(done);
  return text + ", about " + http::grouped(static_cast<std::uint64_t>(std::ceil(left))) + " s left";
}

}  // namespace millrace::server
