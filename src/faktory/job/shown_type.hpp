#pragma once

#include <string_view>

#include "core/model/job.hpp"
#include "core/ports/work_unit.hpp"

/// The type that a job is shown with, counted as and limited by. Mostly that is its jobtype. Some
/// frameworks send the same text for all their jobs, and name the class elsewhere:
///
/// | framework         | recognized by                       | shown type                       |
/// |-------------------|-------------------------------------|----------------------------------|
/// | ActiveJob         | jobtype `kActiveJobWrapper`         | `custom.wrapped`                 |
/// | ActionMailer      | its delivery job, in that           | `Mailer#method`, from `args`     |
/// | Laravel           | put: `displayName`, `job`           | `displayName`                    |
/// | Symfony Messenger | put: `body`, `headers`              | `type` of `headers`              |
///
/// A name that is no string, is empty or longer than `kShownTypeBytesMax` does not count. What
/// workers and beanstalk clients get does not change.
namespace millrace::faktory {

/// Rails pushes all jobs with it.
inline constexpr std::string_view kActiveJobWrapper =
    "ActiveJob::QueueAdapters::FaktoryAdapter::JobWrapper";

/// Of a name other than the jobtype, with its quotes and escapes.
inline constexpr std::size_t kShownTypeBytesMax = 512;
/// A name further behind in `custom` or `args` is not found.
inline constexpr std::size_t kTypeSearchBytes = 16 * 1024;
/// A longer body that was put has no type: beanstalkd's own limit, unless it is told another one.
inline constexpr std::size_t kTypedBodyBytesMax = 64 * 1024;

/// See `WorkUnitFormat`.
[[nodiscard]] std::string_view find_type_part(const Job& job);
[[nodiscard]] WorkUnitFormat::Type read_type_part(std::string_view part);

}  // namespace millrace::faktory
