#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plan.hpp"

namespace bench {

/// Notes which jobs came back, so that one that is handed out twice is found.
class Deliveries {
 public:
  explicit Deliveries(const Plan& plan);

  /// A number for a new job.
  std::size_t next() { return next_++; }
  [[nodiscard]] std::size_t given() const { return next_; }
  /// The job's payload has so many bytes: the body of a put, the JSON of a PUSH.
  void note_payload(std::size_t bytes) { payload_bytes_ += bytes; }
  /// Throws when the job came before.
  void note(std::size_t job);
  [[nodiscard]] std::size_t came() const { return came_; }
  /// Of all jobs together.
  [[nodiscard]] std::size_t payload_bytes() const { return payload_bytes_; }

 private:
  std::vector<bool> seen_;
  std::size_t next_ = 0;
  std::size_t came_ = 0;
  std::size_t payload_bytes_ = 0;
};

/// What one connection says, and what it expects to hear. Anything else throws. Operations are done
/// in bundles: first all of them say their first command, then all say their second one.
class Dialogue {
 public:
  virtual ~Dialogue() = default;

  /// What has to be said before the work: `out` gets it, and so many replies follow. The Faktory
  /// protocol speaks first: its greeting is one of them.
  virtual std::size_t greet(std::string& out) = 0;

  /// Takes a reply to what `greet` said.
  virtual std::size_t answer_greeting(std::string_view input) = 0;

  /// Appends the first command of each of so many operations.
  virtual void begin(std::size_t operations, std::string& out) = 0;

  /// Takes one whole reply off the beginning of `input` and returns its size; 0: more is needed.
  virtual std::size_t answer(std::string_view input) = 0;

  /// When all operations of all connections are done: appends a question for a job that is left.
  /// `go_on` then ends what came and asks for another, until there is none.
  virtual void drain(std::string& out) = 0;

  /// Once all commands have their replies: appends those that come next and returns how many they
  /// are; 0: the operations are done, or nothing is left.
  virtual std::size_t go_on(std::string& out) = 0;
};

/// Throws std::invalid_argument when the plan asks for what cannot be: a work that there is not,
/// works of both protocols, an option of the other one, or queues that not all works would come to.
void check(const Plan& plan);

/// Of a plan that was checked: put, put-cycle (put, reserve, delete), push, push-cycle (PUSH,
/// FETCH, ACK).
std::unique_ptr<Dialogue> make_dialogue(const Plan& plan, std::size_t connection,
                                        Deliveries& deliveries);

}  // namespace bench
