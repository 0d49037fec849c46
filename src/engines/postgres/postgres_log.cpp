#include <algorithm>
#include <utility>

#include "engines/open.hpp"
#include "engines/postgres/connection.hpp"
#include "engines/postgres/reader.hpp"
#include "engines/postgres/statements.hpp"
#include "engines/postgres/writer.hpp"

namespace millrace::engines {
namespace {

using journal::LogService;
using journal::Sequence;
using postgres::Clock;
using postgres::Connection;
using postgres::Target;
using postgres::Time;

/// Removes the beginning of the log in steps, on a connection of its own, so that nobody waits for
/// it. It goes on after it lost its connection.
class Trimmer {
 public:
  Trimmer(const Target& target, bool allows_unsynced)
      : connection_(target, {.allows_unsynced = allows_unsynced,
                             .allows_no_table = false,
                             .steps = postgres::trimming_of(target.table)}) {}

  /// Everything before that message is to go.
  void trim(journal::Sequence before) {
    before_ = std::max(before_, before);
    advance();
  }

  /// Does what is possible without waiting. A step that removes nothing is the last one.
  void advance() {
    if (is_done()) return;
    if (connection_.state() == Connection::State::kDown) {
      is_asking_ = false;
      connection_.connect();
    }
    connection_.advance();
    if (connection_.is_ready() && is_asking_) {
      const postgres::ResultPointer result = connection_.take_result();
      if (!result) return;
      is_asking_ = false;
      begin_ = PQgetisnull(result.get(), 0, 0) != 0 ? before_
                                                    : postgres::number_at(result.get(), 0, 0) + 1;
    }
    if (!connection_.is_ready() || is_asking_ || is_done()) return;
    is_asking_ =
        postgres::Parameters().number(begin_).number(before_).send(connection_.raw(), "trim");
    if (!is_asking_) connection_.fail();
  }

  [[nodiscard]] pollfd interest() const {
    return is_done() ? pollfd{-1, 0, 0} : connection_.interest();
  }

  /// When `advance` has something to do at the latest, though nothing comes.
  [[nodiscard]] Time next() const {
    const bool waits = !is_done() && connection_.state() == Connection::State::kDown;
    return waits ? connection_.next_attempt() : Time::max();
  }

 private:
  [[nodiscard]] bool is_done() const { return begin_ >= before_; }

  Connection connection_;
  journal::Sequence begin_ = 0;   ///< nothing is left before it
  journal::Sequence before_ = 0;  ///< the aim
  bool is_asking_ = false;
};

/// Between looks for what others appended. NOTIFY would tell at once, but every transaction that
/// notifies holds a lock of the whole server until it is synced.
constexpr std::chrono::milliseconds kLookGap(10);
/// For all hosts, at the start.
constexpr auto kOpenMax = 2 * journal::kAnswerMax + std::chrono::seconds(1);

class PostgresLog final : public LogService {
 public:
  PostgresLog(const Target& target, bool allows_unsynced)
      : writer_(target, allows_unsynced),
        reader_(target, allows_unsynced, waker_),
        trimmer_(target, allows_unsynced) {}

  [[nodiscard]] Sequence message_count(std::size_t bytes) const override {
    return (std::max<std::size_t>(bytes, 1) + postgres::kRowBytesMax - 1) / postgres::kRowBytesMax;
  }

  [[nodiscard]] Outcome<Extent> extent() override {
    go_on();
    return reader_.extent();
  }

  [[nodiscard]] Outcome<Chunk> follow(Sequence after, std::size_t bytes_max,
                                      Duration longest) override {
    const Time end = postgres::later(Clock::now(), longest);
    for (;;) {
      go_on();
      auto chunk = reader_.look(after, bytes_max);
      if (!chunk) {
        // It may be a call that was woken.
        (void)waker_.take();
        return chunk.error();
      }
      const bool has_progress = *chunk && ((*chunk)->seen > after || (*chunk)->is_trimmed);
      if (has_progress) return std::move(**chunk);
      if (pause(std::min(end, Clock::now() + kLookGap)) || Clock::now() >= end) {
        return Chunk{.entries = {}, .seen = after, .is_trimmed = false};
      }
    }
  }

  void append(Entry entry) override { writer_.append(std::move(entry)); }

  [[nodiscard]] std::vector<Answer> answers(Duration longest) override {
    const Time end = postgres::later(Clock::now(), longest);
    for (;;) {
      go_on();
      std::vector<Answer> answers = writer_.take_answers();
      if (!answers.empty() || waker_.take() || Clock::now() >= end) return answers;
      waker_.wait({writer_.interest(), trimmer_.interest(), reader_.interest()},
                  std::min({end, writer_.next(), trimmer_.next()}));
    }
  }

  [[nodiscard]] Outcome<Done> trim(Sequence before) override {
    trimmer_.trim(before);
    return Done{};
  }

  void wake() noexcept override { waker_.wake(); }
  [[nodiscard]] bool can_be_woken() const { return waker_.is_open(); }

 private:
  /// Each call does this, whichever connection it is about. While a server stops, it waits for
  /// those that have begun to connect and say no more: for a minute, and serves nobody.
  void go_on() {
    reader_.go_on();
    writer_.advance();
    trimmer_.advance();
  }

  /// True when the waker woke.
  bool pause(Time until) {
    while (!waker_.take()) {
      if (Clock::now() >= until) return false;
      waker_.wait({trimmer_.interest()}, std::min(until, trimmer_.next()));
      trimmer_.advance();
    }
    return true;
  }

  postgres::Waker waker_;
  postgres::Writer writer_;
  postgres::Reader reader_;
  Trimmer trimmer_;
};

/// Connects and does the steps.
Outcome<bool> has_table(const Target& target, const Options& options,
                        std::vector<Connection::Step> steps) {
  Connection connection(target, {.allows_unsynced = options.allows_unsynced,
                                 .allows_no_table = true,
                                 .steps = std::move(steps)});
  const postgres::Waker waker;
  const Time until = Clock::now() + kOpenMax;
  connection.connect();
  while (!connection.is_ready()) {
    connection.advance();
    if (connection.state() == Connection::State::kDown) return connection.problem();
    if (Clock::now() >= until) {
      Problem silent{"PostgreSQL: the server does not answer"};
      silent.is_passing = true;
      return silent;
    }
    if (!connection.is_ready()) waker.wait({connection.interest()}, until);
  }
  return connection.has_table();
}

}  // namespace

Outcome<std::unique_ptr<LogService>> open_postgres_log(const std::string& url,
                                                       const Options& options) {
  const auto target = postgres::read_target(url, options);
  if (!target) return target.error();
  auto found = has_table(*target, options, {});
  if (found && !found.value()) {
    found = has_table(*target, options, postgres::creation_of(target->table));
    if (found) found = has_table(*target, options, {});
  }
  if (!found) return found.error();
  auto log = std::make_unique<PostgresLog>(*target, options.allows_unsynced);
  if (!log->can_be_woken()) return Problem{"PostgreSQL: no descriptor is left"};
  return std::unique_ptr<LogService>(std::move(log));
}

}  // namespace millrace::engines
