#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "core/broker/broker.hpp"
#include "core/broker/requests.hpp"
#include "core/model/types.hpp"
#include "core/ports/session.hpp"
#include "faktory/session/auth.hpp"
#include "faktory/session/command.hpp"
#include "faktory/session/line_buffer.hpp"
#include "faktory/session/long/long_line.hpp"
#include "faktory/session/push_reader.hpp"
#include "faktory/session/shared.hpp"

namespace millrace::faktory {

/// The last FETCH of a client that names many queues. A worker says the same line again and again,
/// and to read it, and to look up each name, would cost several times as much as the rest.
class LastFetch {
 public:
  static constexpr std::size_t kQueuesMin = 8;
  static constexpr std::size_t kLineBytesMax = 16 * 1024;

  /// False: it is not worth it, or too long.
  [[nodiscard]] static bool is_worth_it(std::string_view line, std::size_t queues) {
    return queues >= kQueuesMin && line.size() <= kLineBytesMax;
  }

  /// `queues` are the names that the line was found to ask for, and point into it.
  LastFetch(std::string_view line, const std::vector<std::string_view>& queues) : line_(line) {
    for (const std::string_view name : queues) {
      const auto at = static_cast<std::size_t>(name.data() - line.data());
      request_.queues.push_back(std::string_view(line_).substr(at, name.size()));
    }
    request_.known = &known_;
  }

  LastFetch(const LastFetch&) = delete;
  LastFetch& operator=(const LastFetch&) = delete;

  /// Whether it was this very line.
  [[nodiscard]] bool is(std::string_view line) const { return line == line_; }

  /// It names the queues, and where they were found. What else it asks for changes each time.
  [[nodiscard]] ReserveRequest& request() { return request_; }

 private:
  const std::string line_;
  KnownQueues known_;
  ReserveRequest request_;  ///< the names are in `line_`
};

/// HELLO must have arrived by then, as with the reference server. How long the check of its
/// password may take after that is up to the login guard.
inline constexpr Duration kHandshakeLimit = 2s;

/// HELLO cannot be longer. A client that sends more is no worker, and has shown no password yet: it
/// must not fill the memory.
inline constexpr std::size_t kHelloBytesMax = 16 * 1024;

/// How long FETCH waits for a job. The reference waits 2 s. We wait a little less: some clients
/// stop reading after 2 s, and would take this reply for that of their next command.
inline constexpr Duration kFetchWait = 1950ms;

/// How many rounds of a password's hash one slice makes: about a tenth of a millisecond.
inline constexpr std::uint32_t kHashesPerTurn = 512;

/// What a change is about: one thing, or anything else in words.
struct Described {
  std::string target = {};
  std::string details = {};
};

/// One client's conversation, from the greeting to END. `shared` must outlive it.
class FaktorySession final : public Session {
 public:
  FaktorySession(Shared& shared, std::string peer);
  ~FaktorySession() override;
  FaktorySession(const FaktorySession&) = delete;
  FaktorySession& operator=(const FaktorySession&) = delete;

  [[nodiscard]] std::unique_ptr<ReadAhead> make_read_ahead() override;
  void start(Time now) override;
  void receive(std::string_view bytes, Time now) override;
  void resume(Time now) override;
  void end_of_input(Time now) override;
  void deliver(const Delivery& delivery, Time now) override;
  void sent(std::size_t bytes) override;
  void note_broken() override { is_broken_ = true; }
  void close(Time now) override;

  /// Ends the connection of a user who is gone, or whose rights or secrets are others.
  void look_at_users();

  [[nodiscard]] bool wants_input() const override;
  [[nodiscard]] std::size_t kept_bytes() const override;
  [[nodiscard]] std::size_t unrendered_bytes() const override;
  [[nodiscard]] bool wants_resume() const override;
  [[nodiscard]] bool wants_close() const override { return is_closing_ && !has_long_reply(); }
  [[nodiscard]] bool is_at_work() const override { return background_ || pushed_; }
  [[nodiscard]] Time close_at() const override { return close_at_; }
  [[nodiscard]] Time wake_at() const override;

 private:
  enum class Wait { kNothing, kJob, kLongTask, kBackground };

  /// Work in the background, and what follows it.
  struct BackgroundTask {
    std::size_t kept_bytes = 0;
    std::size_t unrendered_bytes = 0;
    std::function<void(Time now)> finish = {};
  };
  struct Begun {
    BackgroundTask task;
    FaktorySession* session;  ///< null: it is gone. For the main loop's thread
    /// The same for the background, which then need not do the work.
    std::atomic<bool> is_abandoned = false;

    Begun(BackgroundTask what, FaktorySession* whose) : task(std::move(what)), session(whose) {}
  };

  /// A HELLO whose password is not checked yet.
  struct Login {
    Hello hello;
    access::SharedUsers users;  ///< whose secrets are tried; null: the password is
    PasswordHash hash;
    std::size_t tried = 0;                                ///< so many of the secrets were
    std::optional<std::size_t> right = std::nullopt;      ///< the place of the right one
    std::optional<LoginGuard::Turn> turn = std::nullopt;  ///< if the client's address is slow
    bool is_turn = false;                                 ///< the turn has come

    [[nodiscard]] bool is_waiting() const { return turn && !is_turn; }
  };

  /// A fetched job whose reply may not have left yet. If it never does, the job is given back.
  struct Fetched {
    JobId id = 0;
    Time reserved_at{};
    std::uint64_t reply_end = 0;  ///< counted from the first byte of output ever
  };

  [[nodiscard]] bool can_execute() const;
  void work_through_lines(Time now);
  void execute_one(const LineBuffer::Line& line, Time now);

  // The handshake (handshake.cpp).
  void shake_hands(const LineBuffer::Line& line, Time now);
  void check_login(Time now);
  [[nodiscard]] bool may_begin_login(Time now);
  std::unique_ptr<Login> leave_login();
  [[nodiscard]] bool try_secrets();
  [[nodiscard]] bool is_wid_of_another(std::string_view wid) const;
  void finish_login(Time now);
  void welcome(Hello&& hello, Time now);

  /// A right that the client's user does not have, and for what, in words; nullopt: may go on.
  struct Lack {
    access::Right right;
    std::string of = {};
  };
  using Lacking = std::optional<Lack>;
  // One for each command (rights.cpp). What names its queue later is looked at once more there.
  [[nodiscard]] Lacking lacks(const Push& push) const;
  [[nodiscard]] Lacking lacks(const PushBulk& push) const;
  [[nodiscard]] Lacking lacks(const Fetch& fetch) const;
  [[nodiscard]] Lacking lacks(const Ack& ack) const;
  [[nodiscard]] Lacking lacks(const Fail& fail) const;
  [[nodiscard]] Lacking lacks(const Beat& beat) const;
  [[nodiscard]] Lacking lacks(const Info& info) const;
  [[nodiscard]] Lacking lacks(const Flush& flush) const;
  [[nodiscard]] Lacking lacks(const PauseQueues& queues) const;
  [[nodiscard]] Lacking lacks(const RemoveQueues& queues) const;
  [[nodiscard]] Lacking lacks(const QueueLatency& queues) const;
  [[nodiscard]] Lacking lacks(const Mutate& mutate) const;
  [[nodiscard]] Lacking lacks(const TrackGet& get) const;
  [[nodiscard]] Lacking lacks(const TrackSet& set) const;
  [[nodiscard]] Lacking lacks(const NewBatch& batch) const;
  [[nodiscard]] Lacking lacks(const UseBatch& batch) const;
  [[nodiscard]] Lacking lacks(const End& end) const;
  [[nodiscard]] Lacking lacks_somewhere(access::Right right) const;
  [[nodiscard]] Lacking lacks_everywhere(access::Right right) const;
  [[nodiscard]] Lacking lacks_with_job(access::Right right, const Job* job) const;
  [[nodiscard]] Lacking lacks_with_track(access::Right right, std::string_view jid) const;
  template <typename Names>
  [[nodiscard]] Lacking lacks_with_queues(access::Right right, const Names& queues) const;
  template <typename Named>
  [[nodiscard]] Lacking lacks_with_named(access::Right right, const Named& named) const;
  /// Leaves out those from which the user may take nothing.
  void keep_allowed(std::vector<std::string_view>& queues) const;
  void execute_if_allowed(const Command& command, Time now);

  // One for each command (execute.cpp). Each appends one reply, or makes the client wait.
  void execute(const Push& push, Time now);
  void execute(const PushBulk& push, Time now);
  void execute(const Fetch& fetch, Time now);
  void execute(const Ack& ack, Time now);
  void execute(const Fail& fail, Time now);
  void execute(const Beat& beat, Time now);
  void execute(const Info& info, Time now);
  void execute(const Flush& flush, Time now);
  void execute(const PauseQueues& queues, Time now);
  void execute(const RemoveQueues& queues, Time now);
  void execute(const QueueLatency& queues, Time now);
  void execute(const Mutate& mutate, Time now);
  void execute(const TrackGet& get, Time now);
  void execute(const TrackSet& set, Time now);
  void execute(const NewBatch& batch, Time now);
  void execute(const UseBatch& batch, Time now);
  void execute(const End& end, Time now);

  void fetch(ReserveRequest& asked, Time now);
  [[nodiscard]] bool is_long(const LineBuffer::Line& line) const;
  void parse_in_background(const LineBuffer::Line& line, Time now);
  /// `drop`: frees what the work would need.
  void run_in_background(
      BackgroundTask task, std::function<void()> work, std::function<void()> drop = [] {});
  void end_background();
  void execute_long(LongLine& line, Time now);
  void execute(Result<Command, Refused>& command, Time now);
  void execute(Result<MadeJob, RefusedJob>& job, Time now);
  [[nodiscard]] std::optional<MadeJob> take_made();
  void put(MadeJob& job, Time now);
  void execute(Outcome<std::unique_ptr<JobList>>& jobs, Time now);
  void push_list(Outcome<std::unique_ptr<JobList>>& jobs, Time now);
  void push_slice(Time now);
  [[nodiscard]] bool is_ordered_to_stop() const;
  void answer_fetch(const Delivery& delivery);
  void answer_long_job(const Job& job, std::string_view queue, Lsn needs);
  void answer_long_task(std::optional<std::uint64_t> moved);
  /// The change that the command begins.
  void note(std::string action, Described described, Time now);
  void note_wrong_password(Time now);
  void refuse_job(const RefusedJob& refused, std::string_view action, Time now);
  [[nodiscard]] Change change_by_this(std::string action, Described described, Time now) const;

  Shared& shared_;
  const std::string peer_;
  LineBuffer lines_;
  std::shared_ptr<PushReader::Made> ahead_;  ///< null: nothing reads ahead
  std::deque<PushAhead> made_;               ///< taken from there; of lines that were not executed
  std::size_t made_bytes_ = 0;               ///< their memory
  std::unique_ptr<LastFetch> last_fetch_;    ///< null: it named few queues
  std::uint64_t sent_ = 0;                   ///< bytes of output that left
  std::vector<Fetched> fetched_;             ///< the oldest first
  std::optional<Challenge> challenge_;
  std::unique_ptr<Login> login_;
  ClientId client_ = 0;  ///< 0 until the handshake is over
  std::string wid_;      ///< empty: a producer
  access::Caller caller_;
  Wait wait_ = Wait::kNothing;
  Activity::Number noted_ = 0;       ///< the last change
  std::unique_ptr<JobList> pushed_;  ///< at work
  /// Null: there is none. Shared: the end of the work is told when the session may be gone.
  std::shared_ptr<Begun> background_;
  Time close_at_ = kNever;
  bool has_input_ended_ = false;
  bool is_broken_ = false;
  bool is_closing_ = false;
};

}  // namespace millrace::faktory
