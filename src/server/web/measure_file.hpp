#pragma once

#include <asio/thread_pool.hpp>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "http/routes/measures/measure_copy.hpp"
#include "server/process/logging.hpp"

namespace millrace::server {

/// Keeps the measures in the file `measures` of the data directory, so that charts know what
/// happened before a restart. A process that is killed loses what came since the last save. No
/// reply waits for the file: a thread of its own writes it, and what cannot be written is left out
/// until the next time.
class MeasureFile {
 public:
  static constexpr Duration kPause = 30s;  ///< between two saves
  /// What is longer was not written by this program.
  static constexpr std::uintmax_t kBytesMax = 64 << 20;

  /// `directory`: empty, and nothing is kept. What `measures` refers to, and `log`, outlive this.
  MeasureFile(http::Measures measures, std::string directory, const Log& log);
  ~MeasureFile();
  MeasureFile(const MeasureFile&) = delete;
  MeasureFile& operator=(const MeasureFile&) = delete;

  /// Reads what an earlier process has saved, once. To be called before anything is measured.
  void load(Time now);

  /// Copies some of the measures, if it is time. To be called at `next_due`.
  void work(Time now);
  [[nodiscard]] Time next_due() const { return next_; }

  /// At the end of the process: returns when all is saved, or cannot be.
  void save_now();

 private:
  void write(const http::MeasureCopy& copy);

  const http::Measures measures_;
  const std::string path_;
  const Log& log_;
  bool is_loaded_ = false;
  Time next_ = kNever;
  std::optional<http::MeasureCopy> copy_;  ///< that is being made
  std::atomic<bool> is_writing_ = false;
  bool has_failed_ = false;  ///< used in the thread
  asio::thread_pool thread_{1};
};

}  // namespace millrace::server
