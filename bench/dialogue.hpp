#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plan.hpp"

namespace bench {

/// Counts how often each job came back, so that one lost or handed out twice is found.
class Deliveries {
 public:
  explicit Deliveries(const Plan& plan);

  /// A number for a new job.
  std::size_t next() { return next_++; }
  /// Throws when the job came before.
  void note(std::size_t job);
  [[nodiscard]] std::size_t begun() const { return next_; }
  [[nodiscard]] std::size_t came() const { return came_; }

 private:
  std::vector<bool> seen_;
  std::size_t next_ = 0;
  std::size_t came_ = 0;
};

/// What one connection says, and what it expects to hear. Anything else throws.
class Dialogue {
 public:
  virtual ~Dialogue() = default;

  /// What has to be said before the work: `out` gets it, and so many replies follow. The Faktory
  /// door speaks first: its greeting is one of them.
  virtual std::size_t greet(std::string& out) = 0;

  /// Appends the next command.
  virtual void ask(std::string& out) = 0;

  /// Takes one whole reply off the beginning of `input` and returns its size; 0: more is needed.
  /// `is_done` tells whether an operation ended with it, which can be several commands.
  virtual std::size_t answer(std::string_view input, bool& is_done) = 0;

  /// Takes a reply to what `greet` said.
  virtual std::size_t answer_greeting(std::string_view input) = 0;
};

/// put, put-cycle (put, reserve, delete), push, push-cycle (PUSH, FETCH, ACK). Null: no such work.
std::unique_ptr<Dialogue> make_dialogue(const Plan& plan, std::size_t connection,
                                        Deliveries& deliveries);

}  // namespace bench
