#include "core/model/record_size.hpp"

#include <bit>
#include <string>

namespace millrace {
namespace {

std::uint64_t number_bytes(std::uint64_t number) {
  return (static_cast<std::uint64_t>(std::bit_width(number | 1)) + 6) / 7;
}

std::uint64_t signed_bytes(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  return number_bytes((bits << 1) ^ (number < 0 ? ~std::uint64_t{0} : 0));
}

std::uint64_t time_bytes(Time time) {
  return signed_bytes(time.time_since_epoch().count());
}

std::uint64_t text_bytes(std::uint64_t size) {
  return number_bytes(size) + size;
}

std::uint64_t tallies_bytes(const Tallies& tallies) {
  if (tallies == Tallies{}) return 0;
  return number_bytes(tallies.reserves) + number_bytes(tallies.timeouts) +
         number_bytes(tallies.releases) + number_bytes(tallies.buries) +
         number_bytes(tallies.kicks);
}

std::uint64_t failure_bytes(const Failure& failure) {
  std::uint64_t bytes = signed_bytes(failure.retry_count) + signed_bytes(failure.remaining) +
                        time_bytes(failure.failed_at) + time_bytes(failure.next_at) +
                        text_bytes(failure.errtype.size()) + text_bytes(failure.message.size()) +
                        number_bytes(failure.backtrace.size());
  for (const std::string& line : failure.backtrace) bytes += text_bytes(line.size());
  return bytes;
}

std::uint64_t reservation_bytes(const Reservation& held) {
  return text_bytes(held.wid.size()) + text_bytes(held.jid.size()) + time_bytes(held.reserved_at);
}

}  // namespace

std::uint64_t record_bytes(const Job& job, std::string_view queue) {
  constexpr std::uint64_t kTagKindAndFlags = 3;
  const Reservation* const held = job.reservation();
  const bool is_held_by_worker = held != nullptr && held->is_held_by_worker();
  const Time when = held == nullptr || is_held_by_worker ? job.when : Time{};
  std::uint64_t bytes = kTagKindAndFlags + number_bytes(job.id) + text_bytes(queue.size()) +
                        time_bytes(job.created_at) + number_bytes(job.ttr_s) +
                        number_bytes(job.pri) + number_bytes(job.sequence) + time_bytes(when) +
                        time_bytes(job.enqueued_at) + number_bytes(job.delay_s) +
                        text_bytes(job.body_bytes);
  if (!job.history) return bytes;
  bytes += tallies_bytes(job.history->tallies);
  if (job.history->failure) bytes += failure_bytes(*job.history->failure);
  if (is_held_by_worker) bytes += reservation_bytes(*held);
  return bytes;
}

std::uint64_t record_bytes(const Queue& queue) {
  constexpr std::uint64_t kTagAndFlag = 2;
  return kTagAndFlag + text_bytes(queue.name.size()) + time_bytes(queue.paused_until) +
         number_bytes(queue.pause_s);
}

}  // namespace millrace
