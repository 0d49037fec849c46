#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace millrace::cli {

/// What a value may be. Verbs check their values with it, and shells complete them.
struct ValueHint {
  std::span<const std::string_view> words = {};  ///< empty: any text
  bool is_list = false;                          ///< several of them, separated by commas
  bool is_queue = false;                         ///< the name of a queue, of those that there are
};

inline constexpr std::array<std::string_view, 5> kStateWords = {"scheduled", "ready", "reserved",
                                                                "retrying", "dead"};
/// Those of many jobs at a time.
inline constexpr std::array<std::string_view, 4> kMatchedStateWords = {"scheduled", "ready",
                                                                       "retrying", "dead"};
inline constexpr std::array<std::string_view, 6> kListedStateWords = {
    "scheduled", "ready", "reserved", "retrying", "dead", "completed"};
inline constexpr std::array<std::string_view, 4> kBatchStateWords = {"open", "running", "failed",
                                                                     "succeeded"};
inline constexpr std::array<std::string_view, 4> kOutcomeWords = {"done", "dropped", "deleted",
                                                                  "expired"};
inline constexpr std::array<std::string_view, 3> kCronActionWords = {"run", "pause", "resume"};
inline constexpr std::array<std::string_view, 2> kQueueActionWords = {"clear", "delete"};
inline constexpr std::array<std::string_view, 2> kWorkerActionWords = {"quiet", "stop"};
inline constexpr std::array<std::string_view, 5> kBatchActionWords = {"show", "retry", "discard",
                                                                      "accept", "delete"};
inline constexpr std::array<std::string_view, 1> kLockActionWords = {"free"};
inline constexpr std::array<std::string_view, 2> kFormatWords = {"text", "json"};
inline constexpr std::array<std::string_view, 2> kThrottleActionWords = {"set", "reset"};
inline constexpr std::array<std::string_view, 2> kTokenActionWords = {"new", "revoke"};
inline constexpr std::array<std::string_view, 5> kRightWords = {"push", "work", "view", "operate",
                                                                "admin"};

inline constexpr ValueHint kQueueHint{.is_queue = true};

[[nodiscard]] bool has_word(std::span<const std::string_view> words, std::string_view text);

/// For people: `open, running or failed`.
[[nodiscard]] std::string listed(std::span<const std::string_view> words);

/// The refusal of a text that is none of the words: what it must be, and what may be meant.
[[nodiscard]] std::string must_be(std::span<const std::string_view> words, std::string_view text);

/// The word that somebody who typed `text` may have meant. For each three letters of the text, one
/// may be missing, wrong or too much, or two may have changed places. Empty: no word is so near.
[[nodiscard]] std::string_view nearest_word(std::string_view text,
                                            std::span<const std::string_view> words);

}  // namespace millrace::cli
