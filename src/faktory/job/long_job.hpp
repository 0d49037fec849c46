#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/rope.hpp"
#include "core/broker/requests.hpp"
#include "faktory/job/job_reader.hpp"
#include "faktory/job/pushed_job.hpp"
#include "faktory/job/stored_form.hpp"
#include "faktory/json/minifier.hpp"

namespace millrace::faktory {

/// A pushed job of megabytes, read and made in steps of bounded work, in this order:
///
/// * `add` checks a part of its JSON and keeps it compact.
/// * `read` reads the members. The reader is shown the same object with short stand-ins for what is
///   long in it, so that a long job is read by the same rules as any other.
/// * `make` applies the rules of PUSH.
/// * `copy_some` copies a part of the stored form, until all of it is there.
class LongJob {
 public:
  /// `root`: kJob or kJobOfArray.
  explicit LongJob(Minifier::Root root) : minifier_(root, json_) {}
  LongJob(const LongJob&) = delete;
  LongJob& operator=(const LongJob&) = delete;

  [[nodiscard]] Outcome<Done> add(std::string_view json) { return minifier_.add(json); }

  /// The members are good as long as the reader says.
  [[nodiscard]] Outcome<JobMembers> read(JobReader& reader);

  [[nodiscard]] Result<Done, RefusedJob> make(const JobMembers& members, Time now, WallClock clock,
                                              const SecretOfLocks& secret);

  /// False: there is more to copy.
  [[nodiscard]] bool copy_some();

  /// For the broker, when all is copied. Its views and its body are in here.
  [[nodiscard]] const NewJob& job() const { return job_; }

  /// The memory of its JSON and its copy.
  [[nodiscard]] std::size_t kept_bytes() const { return json_.size() + copied_.memory_bytes(); }

 private:
  [[nodiscard]] std::string stand_in();
  [[nodiscard]] std::string_view args_of(const JobMembers& members);
  void append_or_splice(std::size_t begin, std::size_t end, bool is_name, std::string& out);

  Rope json_;
  Minifier minifier_;
  Splices splices_;
  std::string failure_;
  std::string custom_;
  std::string args_;
  NewJob job_;
  std::string queue_;
  SplicedBody body_;
  LongBody copied_;
  std::size_t part_ = 0;     ///< of the body
  std::size_t part_at_ = 0;  ///< so much of it is copied
};

/// How much of a long job is checked or copied in one step.
inline constexpr std::size_t kLongStepBytes = 128 * 1024;

/// A member `custom` that is longer is refused in a long job: features are read from it at once.
inline constexpr std::size_t kCustomBytesMax = 256 * 1024;

/// A member `failure` that is longer is refused in a long job.
inline constexpr std::size_t kFailureBytesMax = 256 * 1024;

}  // namespace millrace::faktory
