#include "simulation/client.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "simulation/violation.hpp"

namespace millrace::simulation {
namespace {

/// How long the body is that a reply's first line announces, with its line end.
std::size_t body_bytes(std::string_view line) {
  const bool has_body = line.starts_with("RESERVED ") || line.starts_with("FOUND ") ||
                        line.starts_with("OK ") || line.starts_with("$");
  if (!has_body || line == "$-1") return 0;
  const std::size_t at = line.find_last_of(" $") + 1;
  std::size_t bytes = 0;
  std::from_chars(line.data() + at, line.data() + line.size(), bytes);
  return bytes + 2;
}

std::string take_reply(std::string_view& bytes) {
  const std::size_t line_end = bytes.find("\r\n");
  demand(line_end != std::string_view::npos, "a reply has no end");
  const std::size_t size = line_end + 2 + body_bytes(bytes.substr(0, line_end));
  demand(size <= bytes.size() && bytes.substr(0, size).ends_with("\r\n"), "a reply is not whole");
  std::string reply(bytes.substr(0, size));
  bytes.remove_prefix(size);
  return reply;
}

}  // namespace

Client::Client(ClientNumber number, std::string wid, std::unique_ptr<Session> session,
               Events events)
    : number_(number),
      wid_(std::move(wid)),
      session_(std::move(session)),
      ahead_(number % 2 == 0 ? session_->make_read_ahead() : nullptr),
      events_(std::move(events)) {}

std::vector<std::string> Client::take_produced() {
  std::vector<std::string> replies;
  const std::uint64_t unparsed = session_->output_end() - parsed_;
  const std::string output = unbound_ + session_->output();
  std::string_view bytes = std::string_view(output).substr(output.size() - unparsed);
  parsed_ = session_->output_end();
  while (!bytes.empty()) replies.push_back(take_reply(bytes));
  return replies;
}

void Client::mark_produced(Told told, std::optional<Model::Fetch> fetch) {
  marks_.push_back({.end = parsed_, .told = told, .fetch = fetch});
}

std::vector<Model::Fetch> Client::unsent_fetches() const {
  std::vector<Model::Fetch> fetches;
  for (const Mark& mark : marks_) {
    if (mark.fetch) fetches.push_back(*mark.fetch);
  }
  return fetches;
}

void Client::set_reading(bool is_reading, Lsn durable) {
  is_reading_ = is_reading;
  let_go(durable);
}

void Client::shake_hands(std::string_view bytes, Time now) {
  if (ahead_) ahead_->read(bytes);
  session_->receive(bytes, now);
}

void Client::receive(std::string_view bytes, Time now) {
  shake_hands(bytes, now);
  make_room(now);
}

bool Client::resume(Time now) {
  if (!session_->wants_resume()) return false;
  session_->resume(now);
  make_room(now);
  events_.on_session_called();
  return true;
}

/// The model executes all that was said at once.
void Client::make_room(Time now) {
  for (;;) {
    const bool is_parsed = events_.finish_background && events_.finish_background();
    const bool is_full = session_->output().size() >= kOutputBytesPause;
    if (!is_parsed && !is_full) return;
    if (is_full) unbound_ += session_->take_output();
    if (session_->wants_resume()) session_->resume(now);
  }
}

Lsn Client::output_needs() const {
  if (fetches_ == Fetches::kStrict || !unbound_.empty()) return kWholeLog;
  const Lsn needs = session_->output_needs();
  return fetches_ == Fetches::kForNothing && needs != kWholeLog ? 1 : std::max<Lsn>(needs, 1);
}

std::optional<Lsn> Client::bind(Lsn lsn) {
  bound_ = std::max(bound_, std::min(lsn, output_needs()));
  std::string output = std::exchange(unbound_, {}) + session_->take_output();
  if (output.empty()) return std::nullopt;
  outbox_.take(output, bound_);
  return bound_;
}

void Client::let_go(Lsn durable) {
  const std::size_t bytes = is_reading_ ? outbox_.covered(durable).size() : 0;
  if (bytes == 0) return;
  outbox_.consume(bytes);
  received_ += bytes;
  session_->sent(bytes);
  while (!marks_.empty() && marks_.front().end <= received_) {
    events_.on_received(marks_.front().told);
    marks_.pop_front();
  }
}

}  // namespace millrace::simulation
