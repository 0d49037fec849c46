#include "simulation/disk/other_process.hpp"

#include <utility>

namespace millrace::simulation {

OtherProcess::OtherProcess(std::function<void(const Pause& pause)> work)
    : thread_([this, work = std::move(work)] {
        its_turn_.acquire();
        work([this] {
          our_turn_.release();
          its_turn_.acquire();
        });
        has_ended_ = true;
        our_turn_.release();
      }) {}

OtherProcess::~OtherProcess() {
  while (advance()) {
  }
  thread_.join();
}

bool OtherProcess::advance() {
  if (has_ended_) return false;
  its_turn_.release();
  our_turn_.acquire();
  return !has_ended_;
}

}  // namespace millrace::simulation
