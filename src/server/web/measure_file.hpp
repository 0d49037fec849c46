#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "http/routes/measures/measure_copy.hpp"
#include "server/process/logging.hpp"

namespace millrace::server {

/// Keeps the measures in the file `measures` of the data directory, so that charts know what
/// happened before a restart; and in its folder `series` a file for each complete block of an
/// archived span. A process that is killed loses what came since the last save. No reply waits for
/// a file: a thread of its own writes it, and what cannot be written is left out until the next
/// time.
class MeasureFile {
 public:
  static constexpr Duration kPause = 30s;  ///< between two saves
  /// For so long the end of the process waits for a disk that does not answer.
  static constexpr auto kPatience = std::chrono::seconds(2);
  static constexpr Duration kLook = 1s;  ///< whether a block is complete
  /// What is longer was not written by this program.
  static constexpr std::uintmax_t kBytesMax = 64 << 20;

  /// `directory`: empty, and nothing is kept. What `measures` refers to, and `log`, outlive this.
  MeasureFile(http::Measures measures, const std::string& directory, const Log& log);
  MeasureFile(const MeasureFile&) = delete;
  MeasureFile& operator=(const MeasureFile&) = delete;

  /// Reads what an earlier process has saved, once. To be called before anything is measured.
  void load(Time now);

  /// Copies some of the measures, if it is time. To be called at `next_due`.
  void work(Time now);
  [[nodiscard]] Time next_due() const { return next_; }

  /// What is in the file of a block; empty: there is none. Any thread may call it.
  [[nodiscard]] static std::string read_block(const std::string& directory,
                                              const http::Block& block);

  /// Saves once more, if anything was measured: at the end of the process, when nobody waits.
  void save_last();

 private:
  struct Writing;

  void begin_to_copy(Time now);
  [[nodiscard]] std::optional<http::Block> complete_block(const http::Ends& ends) const;
  /// Those that an earlier process has begun, and that are over by now.
  void write_begun_blocks();
  void begin_to_write();
  /// Whether the last write is over; what it came to is logged.
  [[nodiscard]] bool has_written(std::chrono::milliseconds patience);
  void note(const Outcome<Done>& written);

  const http::Measures measures_;
  const std::string directory_;
  const std::string path_;
  const Log& log_;
  Time next_ = kNever;  ///< kNever: nothing is to be saved, yet or any more
  Time next_save_{};
  http::Ends next_blocks_{};               ///< of the archived spans
  std::optional<http::MeasureCopy> copy_;  ///< that is being made, or to be written
  std::optional<http::Block> copied_;      ///< of that; nullopt: it has everything
  std::shared_ptr<Writing> writing_;       ///< shared with the thread, which may outlive this
  bool has_failed_ = false;
};

}  // namespace millrace::server
