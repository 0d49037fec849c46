#pragma once

#include <functional>
#include <semaphore>
#include <thread>

namespace millrace::simulation {

/// A second process besides the server. It runs only when it is its turn, up to where it pauses.
/// It has a thread, since what it does knows of no pauses; but never do two run at a time, so all
/// is as repeatable as without.
class OtherProcess {
 public:
  using Pause = std::function<void()>;

  /// `work` is to call what it is given wherever somebody else may have a turn.
  explicit OtherProcess(std::function<void(const Pause& pause)> work);

  /// Runs to its end.
  ~OtherProcess();
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  /// Lets it run to its next pause. False: it has ended.
  bool advance();

 private:
  std::binary_semaphore its_turn_{0};
  std::binary_semaphore our_turn_{0};
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace millrace::simulation
