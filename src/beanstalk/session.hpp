#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "access/users.hpp"
#include "base/limits.hpp"
#include "beanstalk/command.hpp"
#include "beanstalk/reply.hpp"
#include "beanstalk/shared.hpp"
#include "beanstalk/yaml.hpp"
#include "core/model/long_body.hpp"
#include "core/model/refusal.hpp"
#include "core/model/types.hpp"
#include "core/ports/session.hpp"

namespace millrace::beanstalk {

/// One client's conversation.
///
/// It executes commands from the bytes as they arrive, and keeps only what it cannot execute yet:
/// an incomplete command, or the bytes after a command that waits. `shared` must outlive it.
class BeanstalkSession final : public Session {
 public:
  BeanstalkSession(Shared& shared, access::Caller caller, std::string peer)
      : shared_(shared), caller_(std::move(caller)), peer_(std::move(peer)) {}

  /// Ends the connection of a user who is gone, or whose rights are others; or in any case.
  void look_at_users(bool ends_all);

  void start(Time now) override;
  void receive(std::string_view bytes, Time now) override;
  void resume(Time now) override;
  void end_of_input(Time now) override;
  void deliver(const Delivery& delivery, Time now) override;
  void close(Time now) override;

  [[nodiscard]] bool wants_input() const override;
  [[nodiscard]] std::size_t kept_bytes() const override {
    return inbox_bytes() + (long_put_ ? long_put_->body.memory_bytes() : 0);
  }
  [[nodiscard]] bool wants_resume() const override;
  [[nodiscard]] bool wants_close() const override;

 private:
  /// What the client waits for. Nothing is executed meanwhile.
  enum class Wait { kNothing, kJob, kLongTask };

  /// A list-tubes at work. A long list is made in slices between other clients' commands. A tube
  /// that is created or removed meanwhile may be in it or not.
  struct Listing {
    std::uint64_t next = 0;  ///< the first place not listed yet, in the order of creation
    std::uint64_t end = 0;   ///< after the last place
    Yaml yaml;
  };

  /// A put whose body arrives.
  struct ArrivingPut {
    Put put;
    LongBody body;
  };

  /// Input that is dropped before the reply is sent.
  struct Skip {
    bool is_line = false;     ///< up to the end of the line, with its CR LF
    std::uint64_t bytes = 0;  ///< else this many bytes
    std::string_view reply;
  };

  void work_through_inbox(Time now);
  std::size_t execute_from(std::string_view input, Time now);
  [[nodiscard]] bool can_execute() const;
  std::size_t skip(std::string_view input);
  void begin(const LongPut& arriving, Time now);
  std::size_t take_body(std::string_view input, Time now);
  [[nodiscard]] std::size_t inbox_bytes() const { return inbox_.size() - inbox_begin_; }
  std::size_t execute_one(std::string_view input, Time now);
  void refuse(const Refused& refused);

  // One for each command (execute.cpp). Each appends one reply, or makes the client wait.
  void execute(const Put& put, Time now);
  void execute(const Put& put, LongBody* body, Time now);
  void execute(const Peek& peek, Time now);
  void execute(const PeekReady& peek, Time now);
  void execute(const PeekDelayed& peek, Time now);
  void execute(const PeekBuried& peek, Time now);
  void execute(const Reserve& reserve, Time now);
  void execute(const ReserveWithTimeout& reserve, Time now);
  void execute(const ReserveJob& reserve, Time now);
  void execute(const Delete& command, Time now);
  void execute(const Release& release, Time now);
  void execute(const Bury& bury, Time now);
  void execute(const Touch& touch, Time now);
  void execute(const Kick& kick, Time now);
  void execute(const KickJob& kick, Time now);
  void execute(const Use& use, Time now);
  void execute(const Watch& watch, Time now);
  void execute(const Ignore& ignore, Time now);
  void execute(const PauseTube& pause, Time now);
  void execute(const Stats& stats, Time now);
  void execute(const StatsJob& stats, Time now);
  void execute(const StatsTube& stats, Time now);
  void execute(const ListTubes& list, Time now);
  void execute(const ListTubeUsed& list, Time now);
  void execute(const ListTubesWatched& list, Time now);
  void execute(const Quit& quit, Time now);

  // Whether the client's user may do that (rights.cpp): one for each command.
  [[nodiscard]] bool allows(const Put& command) const;
  [[nodiscard]] bool allows(const Peek& command) const;
  [[nodiscard]] bool allows(const PeekReady& command) const;
  [[nodiscard]] bool allows(const PeekDelayed& command) const;
  [[nodiscard]] bool allows(const PeekBuried& command) const;
  [[nodiscard]] bool allows(const Reserve& command) const;
  [[nodiscard]] bool allows(const ReserveWithTimeout& command) const;
  [[nodiscard]] bool allows(const ReserveJob& command) const;
  [[nodiscard]] bool allows(const Delete& command) const;
  [[nodiscard]] bool allows(const Release& command) const;
  [[nodiscard]] bool allows(const Bury& command) const;
  [[nodiscard]] bool allows(const Touch& command) const;
  [[nodiscard]] bool allows(const Kick& command) const;
  [[nodiscard]] bool allows(const KickJob& command) const;
  [[nodiscard]] bool allows(const Use& command) const;
  [[nodiscard]] bool allows(const Watch& command) const;
  [[nodiscard]] bool allows(const Ignore& command) const;
  [[nodiscard]] bool allows(const PauseTube& command) const;
  [[nodiscard]] bool allows(const Stats& command) const;
  [[nodiscard]] bool allows(const StatsJob& command) const;
  [[nodiscard]] bool allows(const StatsTube& command) const;
  [[nodiscard]] bool allows(const ListTubes& command) const;
  [[nodiscard]] bool allows(const ListTubeUsed& command) const;
  [[nodiscard]] bool allows(const ListTubesWatched& command) const;
  [[nodiscard]] bool allows(const Quit& command) const;
  [[nodiscard]] bool may(access::Right right, JobId id) const;
  [[nodiscard]] bool may_reserve() const;
  [[nodiscard]] bool may_see(std::string_view tube) const;
  template <typename C>
  void execute_if_allowed(const C& command, Time now);
  void execute_allowed(const Command& command, Time now);
  void note_refused(std::size_t command, std::string target, Time now);

  void list_slice();
  void reserve_until(Time wait_until, Time now);
  [[nodiscard]] reply::ShownJob shown(const Job& job) const;
  void answer_found(const Job* job);
  void answer_reserved(const Job& job);
  void answer_without_job(std::string_view reply);
  template <typename Render, typename RenderLong>
  void answer_job(const Job& job, Lsn needs, Render render, RenderLong render_long);
  void answer(const Answer<Done>& answer, std::string_view success);
  void answer_refused(Refusal refusal);
  void mark_producer();
  void mark_worker();
  [[nodiscard]] const Queue& used_tube() const;

  Shared& shared_;
  access::Caller caller_;
  const std::string peer_;  ///< see `Service::open`
  ClientId client_ = 0;

  std::string inbox_;  ///< input that is kept: from inbox_begin_ to the end
  std::size_t inbox_begin_ = 0;
  /// With fewer bytes in the inbox there is nothing to execute.
  std::size_t bytes_needed_ = 1;
  std::optional<Skip> skip_;
  std::unique_ptr<ArrivingPut> long_put_;
  Wait wait_ = Wait::kNothing;
  std::unique_ptr<Listing> listing_;
  bool has_input_ended_ = false;
  bool is_closing_ = false;
  bool is_producer_ = false;
  bool is_worker_ = false;
};

}  // namespace millrace::beanstalk
