#pragma once

#include <cstdint>
#include <ios>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/types.hpp"
#include "tools/directory/check.hpp"

/// Journals on the real disk, to be damaged and looked at.
namespace millrace::tools {

/// A journal with these batches, closed as a server that ends does.
void write_journal(const std::string& directory, const std::vector<std::string>& batches);

/// One record: a ready job.
[[nodiscard]] std::string put_batch(JobId id, std::string_view queue);

/// A journal of one process with several segments, and 100 ready jobs in the queue mail, each in a
/// batch of its own. `salt`: of the process; nullopt: any.
void write_segments(const std::string& directory, std::optional<std::uint64_t> salt = {});

/// The journal is as one whose server was killed.
void forget_end(const std::string& directory);

/// The paths of the directory's segments, oldest first.
[[nodiscard]] std::vector<std::string> segments(const std::string& directory);

/// Changes a byte of a file.
void flip_byte(const std::string& path, std::streamoff offset);

/// The last part of a path.
[[nodiscard]] std::string name_of(const std::string& path);

/// Whether there is a report, with that line in it.
[[nodiscard]] bool has(const Outcome<JournalReport>& report, const std::string& line);

}  // namespace millrace::tools
