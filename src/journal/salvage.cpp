#include "journal/salvage.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "journal/log_files.hpp"
#include "journal/log_format.hpp"

namespace millrace::journal {
namespace {

/// The segments' first positions, in order.
/// Where the next whole frame begins; the end when there is none.
std::size_t next_frame(std::string_view bytes, std::size_t offset, const SegmentHeader& header) {
  for (; offset < bytes.size(); offset += kFrameAlignment) {
    const FramePlace place{.lsn = header.first + offset, .salt = header.salt};
    if (decode_frame(bytes.substr(offset), place)) return offset;
  }
  return bytes.size();
}

/// A process gives all its segments the same salt: one before this one may have it too.
std::optional<SegmentHeader> guess_header(std::string_view bytes, Lsn first,
                                          const std::set<std::uint64_t>& salts) {
  for (const std::uint64_t salt : salts) {
    const SegmentHeader header{.first = first, .salt = salt};
    if (next_frame(bytes, kSegmentHeaderBytes, header) < bytes.size()) return header;
  }
  return std::nullopt;
}

bool is_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

Outcome<Done> salvage_segment(std::string_view bytes, const SegmentHeader& header,
                              const Journal::Visitor& visitor, Salvaged& salvaged) {
  std::size_t offset = kSegmentHeaderBytes;
  while (offset < bytes.size()) {
    const FramePlace place{.lsn = header.first + offset, .salt = header.salt};
    if (const auto frame = decode_frame(bytes.substr(offset), place)) {
      const Outcome<Done> visited = visitor(frame->payload, place.lsn + kFrameHeaderBytes);
      if (!visited) return visited;
      ++salvaged.batches;
      offset += frame->bytes;
      continue;
    }
    const std::size_t next = next_frame(bytes, offset + kFrameAlignment, header);
    const std::size_t end = std::min(next, bytes.size());
    if (next < bytes.size() || !is_zero(bytes.substr(offset))) {
      salvaged.losses.push_back(segment_name(header.first) + ": bytes " + std::to_string(offset) +
                                " to " + std::to_string(end) + " are damaged or torn");
    }
    offset = next;
  }
  return Done{};
}

}  // namespace

Outcome<Salvaged> salvage(FileSystem& files, const std::string& directory,
                          const Journal::Visitor& visitor) {
  const Outcome<std::vector<Lsn>> segments = segments_in(files, directory);
  if (!segments) return segments.error();
  Salvaged salvaged;
  std::set<std::uint64_t> salts;
  Lsn expected = segments->empty() ? 0 : segments->front();
  for (std::size_t i = 0; i < segments->size(); ++i) {
    const Lsn first = (*segments)[i];
    const std::string name = segment_name(first);
    Outcome<std::string> bytes = contents_of(files, directory + "/" + name);
    if (!bytes) {
      salvaged.losses.push_back(bytes.error().text);
      continue;
    }
    if (first > expected) {
      salvaged.losses.push_back("positions " + std::to_string(expected) + " to " +
                                std::to_string(first) + " are in no file");
    }
    // A segment ends where the next one begins, though its file may be longer.
    const bool is_last = i + 1 == segments->size();
    if (!is_last) bytes->resize(std::min<std::size_t>(bytes->size(), (*segments)[i + 1] - first));
    expected = first + bytes->size();
    std::optional<SegmentHeader> header = decode_segment_header(*bytes);
    if (header) {
      salts.insert(header->salt);
    } else {
      salvaged.losses.push_back(name + ": its header is damaged");
      header = guess_header(*bytes, first, salts);
      if (!header) continue;
    }
    const Outcome<Done> done = salvage_segment(*bytes, *header, visitor, salvaged);
    if (!done) return done.error();
  }
  return salvaged;
}

}  // namespace millrace::journal
