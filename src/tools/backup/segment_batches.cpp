#include "tools/backup/segment_batches.hpp"

#include <variant>

#include "core/state/batch_reader.hpp"
#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"

namespace millrace::tools {
namespace {

/// The time that a batch tells.
Outcome<std::optional<Time>> time_in(std::string_view batch) {
  std::optional<Time> told;
  for (BatchReader reader(batch); !reader.is_done();) {
    const Outcome<std::vector<Record>> records = reader.next();
    if (!records) return records.error();
    for (const Record& record : *records) {
      if (const auto* const clock = std::get_if<ClockRead>(&record)) told = clock->at;
    }
  }
  return told;
}

}  // namespace

Outcome<Done> see_batches(std::string_view bytes, Lsn first, const std::string& path,
                          const BatchSight& sight) {
  const auto header = journal::decode_segment_header(bytes);
  if (!header) {
    const auto version = journal::foreign_version(bytes);
    if (version) return journal::wrong_version(path, *version);
    return journal::damage(path, 0, journal::kHeaderNotWhole);
  }
  if (header->first != first) return journal::damage(path, 0, "it is another segment");
  std::size_t offset = journal::kSegmentHeaderBytes;
  while (offset < bytes.size()) {
    const journal::FramePlace place{.lsn = first + offset, .salt = header->salt};
    const auto frame = journal::decode_frame(bytes.substr(offset), place);
    if (!frame) return journal::damage(path, offset, journal::kNotWhole);
    const auto told = time_in(frame->payload);
    if (!told) return journal::damage(path, offset, journal::no_records(told.error()));
    if (!sight({.begin = place.lsn, .end = place.lsn + frame->bytes, .told = *told})) break;
    offset += frame->bytes;
  }
  return Done{};
}

Outcome<std::string> read_start(const std::string& path, std::uint64_t size) {
  journal::PosixFileSystem files;
  auto bytes = journal::read_up_to(files, path, size);
  if (!bytes) return bytes;
  if (bytes->size() < size) return Problem{path + " is shorter than it was"};
  const Outcome<Done> named = journal::check_named(files, path);
  return named ? std::move(bytes) : named.error();
}

}  // namespace millrace::tools
