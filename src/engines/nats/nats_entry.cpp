#include "engines/nats/nats_entry.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "base/number.hpp"

namespace millrace::engines {

using journal::Sequence;

Sequence nats_message_count(std::size_t bytes, std::size_t part_bytes_max) {
  return std::max<Sequence>(1, (bytes + part_bytes_max - 1) / part_bytes_max);
}

std::string to_text(const NatsEntryHeader& header) {
  return header.run + " " + std::to_string(header.known) + " " + std::to_string(header.part) + "/" +
         std::to_string(header.parts);
}

std::optional<NatsEntryHeader> parse_nats_entry_header(std::string_view text) {
  const std::size_t run_end = text.find(' ');
  const std::size_t known_end = text.find(' ', run_end + 1);
  const std::size_t slash = text.find('/', known_end + 1);
  if (run_end == 0 || run_end == std::string_view::npos || known_end == std::string_view::npos ||
      slash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto known = parse_number<Sequence>(text.substr(run_end + 1, known_end - run_end - 1));
  const auto part = parse_number<std::uint32_t>(text.substr(known_end + 1, slash - known_end - 1));
  const auto parts = parse_number<std::uint32_t>(text.substr(slash + 1));
  constexpr Sequence kMax = std::numeric_limits<Sequence>::max();
  if (!known || *known == kMax || !part || !parts || *part == 0 || *part > *parts)
    return std::nullopt;
  return NatsEntryHeader{std::string(text.substr(0, run_end)), *known, *part, *parts};
}

void NatsEntryAssembler::begin(Start start) {
  start_ = start;
  next_ = start.next;
  run_.clear();
  run_begin_ = start.next;
  parts_ = 0;
  open_ = {};
}

NatsEntryAssembler::Verdict NatsEntryAssembler::add(const std::optional<NatsEntryHeader>& header,
                                                    std::string_view bytes) {
  if (!header || header->run != run_) {
    run_ = header ? header->run : std::string();
    run_begin_ = next_;
    parts_ = 0;
  }
  if (header) collect(*header, bytes);
  ++next_;
  return header && header->part == header->parts ? judge(*header) : Verdict{};
}

void NatsEntryAssembler::collect(const NatsEntryHeader& header, std::string_view bytes) {
  if (header.part == 1) {
    open_ = {};
    open_.first = next_;
  } else if (parts_ + 1 != header.part || open_.bytes.size() + bytes.size() > kNatsEntryBytesMax) {
    parts_ = 0;
    return;
  }
  parts_ = header.part;
  open_.last = next_;
  open_.bytes += bytes;
}

NatsEntryAssembler::Verdict NatsEntryAssembler::judge(const NatsEntryHeader& last_part) {
  const Sequence sequence = next_ - 1;
  const bool is_whole = std::exchange(parts_, 0) == last_part.parts;
  if (sequence < start_.wanted_from) return {};
  const bool is_from_start = run_begin_ == start_.next;
  const Sequence first_part = sequence - std::min<Sequence>(last_part.parts - 1, sequence - 1);
  const Sequence from = std::min(first_part, last_part.known + 1);
  if (is_from_start && !start_.is_beginning && from < start_.next) {
    return {Step::kLooksBack, from};
  }
  const bool belongs = last_part.known + 1 >= run_begin_ || (is_from_start && start_.is_beginning);
  // No writer makes an empty one.
  const bool is_entry = is_whole && belongs && !open_.bytes.empty();
  return {is_entry ? Step::kEntry : Step::kMore, 0};
}

journal::LogService::Entry NatsEntryAssembler::take() {
  CHECK(!open_.bytes.empty());
  return std::exchange(open_, {});
}

}  // namespace millrace::engines
