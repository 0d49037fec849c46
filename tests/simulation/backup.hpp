#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "journal/file/file_system.hpp"
#include "simulation/disk/other_process.hpp"

namespace millrace::simulation {

/// A backup of "/journal" to "/copy", made by another process: it may be interrupted before each
/// thing that it does with the disk.
class Backup {
 public:
  /// `promised`: what was acknowledged when it began. `files` must outlive it.
  Backup(journal::FileSystem& files, std::uint64_t promised);

  /// The next thing that it does. False: it has ended, and `done` says how.
  bool advance() { return process_.advance(); }

  const std::uint64_t promised;
  Outcome<Done> done = Done{};

 private:
  const OtherProcess::Pause* pause_ = nullptr;
  const std::unique_ptr<journal::FileSystem> files_;
  OtherProcess process_;
};

}  // namespace millrace::simulation
