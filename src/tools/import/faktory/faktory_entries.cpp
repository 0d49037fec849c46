#include "tools/import/faktory/faktory_entries.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/number.hpp"

namespace millrace::tools {
namespace {

constexpr std::uint64_t kFirstPageEntries = 16;
constexpr std::uint64_t kPageEntriesMax = 512;
constexpr std::uint64_t kPageBytes = std::uint64_t{1} << 20;

/// How many entries are asked for at once: as many as have a megabyte, by those that came last.
class PageSize {
 public:
  [[nodiscard]] std::uint64_t entries() const { return entries_; }

  void see(const redisReply& page) {
    std::uint64_t bytes = 1;
    for (std::size_t i = 0; i < page.elements; ++i) bytes += page.element[i]->len;
    const std::uint64_t fit = kPageBytes * std::max<std::uint64_t>(page.elements, 1) / bytes;
    entries_ = std::clamp<std::uint64_t>(fit, 1, std::min(entries_ * 4, kPageEntriesMax));
  }

 private:
  std::uint64_t entries_ = kFirstPageEntries;
};

/// Seconds since 1970 with a fraction. What does not fit becomes the nearest time that does.
Time time_of_score(std::string_view score) {
  constexpr double kSecondsMax = 9e9;
  const double seconds = std::clamp(parse_number<double>(score).value_or(0), 0.0, kSecondsMax);
  return Time{std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds))};
}

/// The entries from `begin` up to `end`, in the order of the walk.
struct EntryRange {
  std::uint64_t begin;
  std::uint64_t end;
};

/// A walk over all entries of a key. While one page is taken, Redis writes the next one.
class EntryWalk {
 public:
  EntryWalk(Redis& redis, const std::string& key, bool is_list)
      : redis_(redis), key_(key), is_list_(is_list) {}

  Outcome<Done> run(EntryTaker take) {
    const auto length = redis_.ask({is_list_ ? "LLEN" : "ZCARD", key_});
    if (!length) return length.error();
    if ((*length)->type != REDIS_REPLY_INTEGER) return changed();
    length_ = static_cast<std::uint64_t>((*length)->integer);
    std::optional<EntryRange> next = ask_from(0);
    while (next) {
      const EntryRange now = *next;
      const auto page = redis_.receive();
      if (!page) return page.error();
      if ((*page)->type != REDIS_REPLY_ARRAY) return changed();
      if ((*page)->elements != (now.end - now.begin) * (is_list_ ? 1 : 2)) return changed();
      size_.see(**page);
      next = ask_from(now.end);
      if (auto taken = take_page(**page, take); !taken) return taken;
    }
    return Done{};
  }

 private:
  [[nodiscard]] Problem changed() const {
    return Problem{redis_.name() + ": " + key_ +
                   " was changed while it was read: stop Faktory, and run it again"};
  }

  std::optional<EntryRange> ask_from(std::uint64_t begin) {
    if (begin >= length_) return std::nullopt;
    const EntryRange range{.begin = begin, .end = std::min(begin + size_.entries(), length_)};
    if (is_list_) {
      // New jobs are at the front.
      redis_.send({"LRANGE", key_, std::to_string(length_ - range.end),
                   std::to_string(length_ - range.begin - 1)});
    } else {
      redis_.send({"ZRANGE", key_, std::to_string(range.begin), std::to_string(range.end - 1),
                   "WITHSCORES"});
    }
    return range;
  }

  Outcome<Done> take_page(const redisReply& page, EntryTaker take) const {
    const std::size_t step = is_list_ ? 1 : 2;
    for (std::size_t i = 0; i < page.elements; i += step) {
      const std::size_t at = is_list_ ? page.elements - 1 - i : i;
      const Time score = is_list_ ? Time{} : time_of_score(text_of_reply(*page.element[at + 1]));
      if (auto taken = take(text_of_reply(*page.element[at]), score); !taken) return taken;
    }
    return Done{};
  }

  Redis& redis_;
  const std::string& key_;
  const bool is_list_;
  std::uint64_t length_ = 0;
  PageSize size_;
};

}  // namespace

Outcome<Done> each_of_list(Redis& redis, const std::string& key, EntryTaker take) {
  return EntryWalk(redis, key, true).run(take);
}

Outcome<Done> each_of_sorted_set(Redis& redis, const std::string& key, EntryTaker take) {
  return EntryWalk(redis, key, false).run(take);
}

}  // namespace millrace::tools
