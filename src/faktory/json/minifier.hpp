#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/rope.hpp"
#include "faktory/json/object_reader.hpp"

namespace millrace::faktory {

/// How deep what is extracted from may be nested, as in the reference.
inline constexpr std::size_t kExtractNestingMax = 10'000;

/// Checks the JSON of a job, or of an array of jobs, which may come in any pieces. Writes it
/// without insignificant white space, and as `repaired_json` would have it. So a long text is read
/// in slices. It accepts what `JobReader` accepts: for the types of members, ask that about what
/// was written. What it remembers of a text is bounded.
class Minifier {
 public:
  /// What is written of an object of which little is needed, however long it is. All of it is
  /// checked, but for control characters in strings, which become U+FFFD.
  struct Extract {
    std::span<const std::string_view> names;  ///< of members, in lower case
    std::size_t text_bytes_max;  ///< of a string as it is sent, give or take a character
    std::size_t entries_max;     ///< of a list; what is nested in it is left out
    std::size_t bytes_max;       ///< of all; what needs more is refused
  };

  /// Where a member of the job is in what was written.
  struct Member {
    std::size_t name_begin = 0;  ///< with the quotes
    std::size_t name_end = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  enum class Root { kJob, kJobOfArray, kJobs };

  /// `out` is empty, and outlives this.
  Minifier(Root root, Rope& out) : root_(root), out_(out) {}
  /// Of one object. `extract` outlives this too.
  Minifier(const Extract& extract, Rope& out) : root_(Root::kJob), extract_(&extract), out_(out) {}

  /// Takes the next bytes of the text. After a problem nothing more may be added.
  [[nodiscard]] Outcome<Done> add(std::string_view json);

  /// The text is over. What was written is an object, or an array of objects and nulls, or null.
  [[nodiscard]] Outcome<Done> finish();

  /// Of the last job. An extract has none.
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }

 private:
  enum class State : std::uint8_t {
    kValue,
    kFirstElement,  ///< or the end of the array
    kFirstName,     ///< or the end of the object
    kName,
    kColon,
    kNext,  ///< a comma, or the end of the container
    kString,
    kNumber,
    kLiteral,
    kEnd,
  };
  /// What is not written of an object that is extracted: a member, or what is left of a container.
  enum class Muted : std::uint8_t { kNothing, kMember, kContent };
  /// What a number has so far.
  enum class Part : std::uint8_t { kMinus, kZero, kWhole, kPoint, kFraction, kE, kSign, kExponent };

  /// Answers how many bytes were taken: all, but for the beginning of something that can only be
  /// judged with what follows.
  std::size_t take(std::string_view text, bool is_last);
  // Each takes something off the front, and answers where it ends; null: there is a problem.
  const char* take_one(const char* at, const char* end);
  const char* take_string(const char* at, const char* end, bool is_last);
  const char* take_escape(const char* at, const char* end);
  const char* take_wide(const char* at, const char* end);
  const char* take_number(const char* at, const char* end);
  const char* take_literal(const char* at, const char* end);
  const char* begin_value(const char* at);
  const char* begin_root(const char* at);
  const char* begin_name(const char* at);
  const char* open(const char* at, bool is_object);
  const char* close(const char* at);
  const char* refuse(std::string_view why);
  void end_string(const char* end);
  void end_value(const char* end);
  void pass_comma(const char* at);
  void end_extracted_name(const char* end);
  void cut_string(const char* run, const char* at);
  void mute_content(const char* at);
  void unmute(const char* at);
  [[nodiscard]] bool is_muted() const { return muted_ != Muted::kNothing || is_tail_; }
  void replace(const char* begin, const char* end, std::string_view text);
  void skip(const char* begin, const char* end);
  [[nodiscard]] std::size_t written(const char* at) const;
  /// How many containers are open around a member of a job.
  [[nodiscard]] std::size_t job_level() const { return root_ == Root::kJobs ? 2 : 1; }
  [[nodiscard]] bool is_job_member() const { return nested_ == job_level(); }
  [[nodiscard]] std::size_t depth() const { return nested_ + (root_ == Root::kJobOfArray ? 1 : 0); }

  const Root root_;
  const Extract* const extract_ = nullptr;  ///< null: all is written
  Rope& out_;
  std::vector<Member> members_;
  std::string held_;  ///< what the last `take` left
  std::string problem_;
  const char* unwritten_ = nullptr;  ///< from here on in the text at hand
  std::size_t nested_ = 0;           ///< how many containers are open
  std::bitset<kExtractNestingMax + 1> is_object_;
  State state_ = State::kValue;
  Part part_ = Part::kMinus;
  bool is_name_ = false;     ///< the string at hand
  bool is_waiting_ = false;  ///< what comes next is needed too
  std::string_view literal_;
  std::size_t literal_at_ = 0;
  // Of an extract only.
  Muted muted_ = Muted::kNothing;
  bool is_tail_ = false;          ///< enough of the string at hand was written
  std::size_t muted_in_ = 0;      ///< how many containers are open where content is muted
  std::size_t string_begin_ = 0;  ///< of the string at hand
  std::size_t entry_count_ = 0;   ///< of the list at hand
};

}  // namespace millrace::faktory
