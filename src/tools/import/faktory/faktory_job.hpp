#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/model/job.hpp"
#include "faktory/job/job_reader.hpp"
#include "tools/import/import_target.hpp"

namespace millrace::tools {

/// Where Faktory has a job.
enum class FaktoryState { kEnqueued, kScheduled, kRetries, kDead, kWorking };

/// The state as users of Faktory know it.
[[nodiscard]] std::string_view state_name(FaktoryState state);

/// A job as Faktory's database has it.
struct FaktoryEntry {
  FaktoryState state = FaktoryState::kEnqueued;
  std::string_view text;   ///< JSON: the job's, or for kWorking that of its reservation
  std::string_view queue;  ///< of kEnqueued: the one that it is in; else its JSON says it
  Time score{};            ///< of all others: due, purged or expired then, by the wall clock
};

/// The same as Millrace stores it.
struct FaktoryJob {
  std::string queue;
  std::string body;
  StoredJob fields;  ///< without a sequence
};

/// Why a job is not taken.
struct FaktoryRefusal {
  std::string queue;  ///< empty where it cannot be read
  std::string_view reason;
  bool is_unreadable = false;  ///< no job can be made of it by anybody
};

/// Makes jobs of entries. Its buffers are used again for the next one.
class FaktoryJobReader {
 public:
  /// `keeps_working`: workers hold the jobs that they hold in Faktory. Otherwise these are ready.
  FaktoryJobReader(ImportTarget& target, bool keeps_working)
      : target_(target), keeps_working_(keeps_working) {}

  [[nodiscard]] Result<FaktoryJob, FaktoryRefusal> read(const FaktoryEntry& entry);

 private:
  /// What Faktory stores of a job that a worker has.
  struct Held {
    std::string_view raw_job;
    std::string wid;
    Time reserved_at{};
  };
  [[nodiscard]] static std::optional<Held> read_held(std::string_view text);
  void set_state(const faktory::JobMembers& members, const FaktoryEntry& entry, StoredJob& job);
  void set_features(const faktory::JobMembers& members, StoredJob& job);
  void hold(const faktory::JobMembers& members, const FaktoryEntry& entry, Held held,
            StoredJob& job);

  ImportTarget& target_;
  const bool keeps_working_;
  faktory::JobReader reader_;
};

}  // namespace millrace::tools
