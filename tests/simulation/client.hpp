#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ports/session.hpp"
#include "server/net/outbox.hpp"
#include "server/turn/turn.hpp"
#include "simulation/model/model.hpp"

namespace millrace::simulation {

/// A client and its connection: what the server's `Connection` is, with strings for a socket. The
/// client reads, or does not for a while.
class Client final : public server::Responder {
 public:
  /// What a reply tells of.
  struct Told {
    std::uint64_t point = 0;  ///< everything up to this point of the log, if `is_all`
    bool is_all = true;
    HandedOut handed_out;
  };
  struct Events {
    std::function<void()> on_session_called;
    /// Does the oldest work of the background, and tells whether there was any. May be empty.
    std::function<bool()> finish_background = {};
    /// The client has such a reply.
    std::function<void(const Told& told)> on_received;
  };

  /// What a reply that hands out a job waits for.
  enum class Fetches {
    kForJob,      ///< as the server does
    kStrict,      ///< everything, as with --strict-fetch
    kForNothing,  ///< a mistake
  };

  /// Every other client's lines are read ahead, as in the threads of sockets.
  Client(ClientNumber number, std::string wid, std::unique_ptr<Session> session, Events events);

  /// The whole replies that the session has made since the last call.
  [[nodiscard]] std::vector<std::string> take_produced();

  /// What the next of them tells of. `fetch`: the job that it hands to a worker.
  void mark_produced(Told told, std::optional<Model::Fetch> fetch);

  void set_fetches(Fetches fetches) { fetches_ = fetches; }
  [[nodiscard]] bool is_strict() const { return fetches_ == Fetches::kStrict; }

  /// The fetched jobs that the client has not heard of.
  [[nodiscard]] std::vector<Model::Fetch> unsent_fetches() const;

  /// The client reads from now on what the socket has, or nothing any more.
  void set_reading(bool is_reading, Lsn durable);
  [[nodiscard]] bool is_reading() const { return is_reading_; }

  /// The client says nothing more, since it does not want to or the server does not.
  void fall_silent() { is_silent_ = true; }
  [[nodiscard]] bool is_silent() const { return is_silent_; }

  /// It has heard all that the session has said.
  [[nodiscard]] bool has_heard_all() const { return received_ == parsed_; }

  [[nodiscard]] ClientNumber number() const { return number_; }
  [[nodiscard]] bool is_worker() const { return !wid_.empty(); }
  [[nodiscard]] const std::string& wid() const { return wid_; }
  [[nodiscard]] Session& session() { return *session_; }

  void receive(std::string_view bytes, Time now);
  /// The same before its conversation begins.
  void shake_hands(std::string_view bytes, Time now);
  /// Executes what was kept, if the session wants to. False: it does not.
  bool resume(Time now);
  std::optional<Lsn> bind(Lsn lsn) override;
  /// It gets what was bound to `durable` or to less.
  void let_go(Lsn durable);

 private:
  struct Mark {
    std::uint64_t end;  ///< of the reply, counted from the first byte of all
    Told told;
    std::optional<Model::Fetch> fetch;
  };

  void make_room(Time now);
  [[nodiscard]] Lsn output_needs() const;

  const ClientNumber number_;
  const std::string wid_;
  const std::unique_ptr<Session> session_;
  const std::unique_ptr<ReadAhead> ahead_;  ///< may be null
  const Events events_;
  std::string unbound_;  ///< output that was taken to make room, and that no turn has bound yet
  Fetches fetches_ = Fetches::kStrict;
  Lsn bound_ = 0;
  server::Outbox outbox_;
  std::deque<Mark> marks_;      ///< of replies that the client does not have yet
  std::uint64_t parsed_ = 0;    ///< bytes of output given out by `take_produced`
  std::uint64_t received_ = 0;  ///< bytes that the client has
  bool is_reading_ = true;
  bool is_silent_ = false;
};

}  // namespace millrace::simulation
