#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/job.hpp"
#include "core/ports/work_unit.hpp"
#include "faktory/job/job_reader.hpp"

/// How a pushed job is stored: the body of a job of kind kWorkUnit.
///
///     body   = [ %x00 unknown_bytes ] jid_at jid_bytes head_bytes text
///     unknown_bytes, jid_at, jid_bytes, head_bytes = varint
///     varint = *%x80-FF %x00-7F            ; 7 bits a byte, the low ones first
///     text   = [ `{"retry":` integer ]                           ; absent: 25
///              [ `,"custom":` object ] `,"jid":` string          ; at jid_at, jid_bytes long
///              `,"jobtype":` string [ `,"created_at":` string ]  ; head_bytes long, from the jid's
///              end [ `,"at":` string ] `,"args":` array [ `,"reserve_for":` integer ] [
///              `,"backtrace":` integer ] [ `,"priority":` integer ]          ; not 5
///              *( `,` string `:` value ) `}`                     ; unknown_bytes long, absent: 1
///
/// Members that the server does not know come last: no worker is shown them.
///
/// The text is compact JSON in the member order of the reference server. Its values are as they
/// were sent, spellings of numbers included. Members that the job itself knows are not stored. They
/// are put in where the reference has them: `failure` after retry, `queue` after jid, `enqueued_at`
/// after created_at. Members that the server fills in are not stored either: `retry` when it is 25
/// (the text then begins with a comma), and `created_at` when the client sent none.
///
/// Bodies of earlier versions have both, as if the client had sent them. They have no
/// unknown_bytes, and workers are shown all of their members.
namespace millrace::faktory {

// No string in a body has these bytes: its quotes have backslashes before them.
inline constexpr std::string_view kTypeStart = R"(,"jobtype":)";
inline constexpr std::string_view kCreatedStart = R"(,"created_at":)";

/// Views of a body, cut where members are put in.
struct StoredForm {
  std::string_view until_retry = R"({"retry":25)";  ///< with the number
  std::string_view until_jid;                       ///< with the jid
  std::string_view head;                            ///< jobtype, and created_at if it is stored
  std::string_view rest;
  std::string_view raw_jid;
  std::size_t unknown_bytes = 0;  ///< so long is the end of `rest` that no worker is shown; 0: none
  std::int64_t retry = kRetryDefault;

  /// Where created_at begins in `head`, or the end of `head`. No string in it has these bytes: its
  /// quotes have backslashes before them.
  [[nodiscard]] std::size_t created_at() const;
};

/// Appends the body for these members to `out`. They must have a jid, a jobtype and args; the rest
/// may be absent.
void encode_work_unit(const JobMembers& members, std::string& out);

/// The jid of a body, with its quotes, found without reading the rest. Empty: it is no stored work
/// unit.
[[nodiscard]] std::string_view raw_jid_of(std::string_view body);
/// The same, and its head: jobtype, and created_at if it is stored.
[[nodiscard]] std::string_view jid_and_head_of(std::string_view body);

/// The head alone.
[[nodiscard]] std::string_view head_of(std::string_view body);

/// nullopt: the body is no stored work unit. It may come from a disk and is not trusted: the views
/// lie inside of it, but need not be JSON.
[[nodiscard]] std::optional<StoredForm> decode_work_unit(std::string_view body);

/// The part of a pushed job's body that begins with its arguments, a JSON array; further members
/// follow. Empty: the job was not pushed, or its body is broken. The body is in memory.
[[nodiscard]] inline std::string_view args_part(const Job& job) {
  if (job.kind != JobKind::kWorkUnit) return {};
  const std::optional<StoredForm> form = decode_work_unit(job.body_view());
  if (!form) return {};
  // `at` alone may come before: no string in it has these bytes, as of `kTypeStart`.
  constexpr std::string_view kStart = R"("args":)";
  const std::size_t start = form->rest.find(kStart);
  return start == std::string_view::npos ? std::string_view()
                                         : form->rest.substr(start + kStart.size());
}

}  // namespace millrace::faktory
