#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/broker/broker.hpp"
#include "faktory/job/work_unit.hpp"
#include "journal/shared/shared_log.hpp"
#include "simulation/client.hpp"
#include "simulation/model/conversation.hpp"
#include "simulation/model/model.hpp"
#include "simulation/model/workload.hpp"
#include "simulation/shadow.hpp"

namespace millrace::simulation {

struct FailoverTotals {
  std::uint64_t worlds = 0;
  std::uint64_t operations = 0;  ///< commands that clients sent to a leader
  std::uint64_t replies = 0;     ///< replies that clients received
  std::uint64_t batches = 0;     ///< that were accepted for the log
  std::uint64_t batches_lost =
      0;                        ///< of those, by a leader that was deposed before they were stored
  std::uint64_t takeovers = 0;  ///< by a standby, while the former leader ran on
  std::uint64_t claims_behind = 0;  ///< claims refused, since something was not applied
  std::uint64_t answers_lost = 0;   ///< of the log, so that an append was in doubt
  std::uint64_t fallen_behind = 0;  ///< standbys that found the log trimmed, and read it anew
  std::uint64_t unheard_commands =
      0;  ///< commands that a deposed leader was sent, and left unanswered
  std::uint64_t segments_removed = 0;

  FailoverTotals& operator+=(const FailoverTotals& other);
};

/// Two servers over one shared log, which pass leadership back and forth: one serves, the other
/// follows, and takes over at any step of the first. Everything follows from the seed. It demands:
///
///  * every reply of a leader is the one that the model foretells;
///  * a deposed leader answers nothing more, whatever its clients say;
///  * the new leader has all that any client was told of, and nothing twice: its state is, byte for
///    byte, the one after the last batch that the log has of the former leader;
///  * a server that reads the whole log gets the same bytes of state.
///
/// The parts are the real ones, except the log: roles, standby, sessions, broker, commit queue,
/// compactor. A `Violation` is thrown when something does not hold.
class Failover {
 public:
  struct Options {
    std::uint64_t seed = 1;
    int terms = 12;            ///< of leaders, one after the other
    int steps_per_term = 100;  ///< at most, and ten times so many once in a while
    std::vector<std::uint64_t> segment_bytes = {512, 1024, 4096};  ///< one is drawn
    /// What jobs may take in memory; one is drawn, and 0 is no limit. With 1 no body stays.
    std::vector<std::uint64_t> memory_bytes = {0, 0, 1, 14'000};

    // For tests of the simulation itself.
    std::function<std::unique_ptr<Journal>(Journal&)> wrap_journal = {};  ///< of each leader
    bool claims_unread = false;      ///< a standby takes over without applying the rest first
    bool stores_old_epochs = false;  ///< the log takes what a deposed leader appends

    /// Is told what happens.
    std::function<void(const std::string&)> trace = {};
  };

  explicit Failover(Options options);
  ~Failover();
  Failover(const Failover&) = delete;
  Failover& operator=(const Failover&) = delete;

  void run();

  [[nodiscard]] const FailoverTotals& totals() const { return totals_; }

 private:
  struct Node;
  struct Term;
  class Recorder;

  /// What a batch changed, and where the log has it if it was stored.
  struct Landmark {
    std::string batch;
    Journal::Span span;
    Facts facts;
  };

  // Leadership (failover.cpp).
  void take_over(Node& next);
  void follow(Node& node);
  void start_over(Node& node);
  void check_taken_over(const Node& next, Lsn log_end);
  void check_whole_log(const std::string& expected);
  void step_deposed();
  void end_deposed();

  // A leader's life (failover_clients.cpp).
  void step();
  void client_step();
  void connect(std::size_t slot);
  void disconnect(std::size_t slot);
  void converse(Client& client);
  void work(Term& term, Time now);
  void poll();
  void advance();
  void observe();
  void observe(Client& client);
  void tell(const std::string& text);

  const Options options_;
  Random random_;
  Workload workload_;
  faktory::WorkUnits format_;
  journal::SharedLog log_;
  Model model_;
  Conversation conversation_;
  Facts facts_;  ///< of the model after the last batch that the shadow has applied
  Time now_;
  const std::uint64_t segment_bytes_;
  const std::uint64_t memory_bytes_;

  std::unique_ptr<Node> nodes_[2];
  Node* leader_ = nullptr;
  Node* deposed_ =
      nullptr;  ///< does not know yet that it is, or has not ended; null: there is none
  bool is_standby_asleep_ = false;  ///< until it takes over: it has much to apply then
  ClientNumber next_client_ = 1;
  ClientNumber first_client_ = 1;  ///< of the present leader

  // The log as it should be. Points count batches, from the beginning of the world.
  std::unique_ptr<Shadow> shadow_;  ///< has applied everything up to `shadow_point_`
  std::uint64_t shadow_point_ = 0;
  std::deque<Landmark> landmarks_;  ///< after the shadow's point
  std::uint64_t known_point_ = 0;   ///< a client had a reply that tells of everything up to here
  FailoverTotals totals_;
};

}  // namespace millrace::simulation
