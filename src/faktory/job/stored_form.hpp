#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/ports/work_unit.hpp"
#include "faktory/job/job_reader.hpp"

/// How a pushed job is stored: the body of a job of kind kWorkUnit.
///
///     body   = jid_at jid_bytes head_bytes text
///     jid_at, jid_bytes, head_bytes = varint
///     varint = *%x80-FF %x00-7F            ; 7 bits a byte, the low ones first
///     text   = [ `{"retry":` integer ]                           ; absent: 25
///              [ `,"custom":` object ] `,"jid":` string          ; at jid_at, jid_bytes long
///              `,"jobtype":` string [ `,"created_at":` string ]  ; head_bytes long, from the jid's
///              end [ `,"at":` string ] `,"args":` array [ `,"reserve_for":` integer ] [
///              `,"backtrace":` integer ] *( `,` string `:` value ) `}`
///
/// The text is compact JSON in the member order of the reference server, and the values in it are
/// as they were sent, number spellings included. What the job itself knows is not stored, and put
/// in where it belongs: `failure` behind retry, `queue` behind jid, `enqueued_at` behind
/// created_at. Nor is what the server fills in: `retry` when it is 25 (the text begins with a comma
/// then), and `created_at` when the client sent none, which is the job's own.
///
/// Bodies that were stored before have both, as if the client had sent them.
namespace millrace::faktory {

inline constexpr std::string_view kCreatedStart = R"(,"created_at":)";

/// A body taken apart where something is put in: views of it.
struct StoredForm {
  std::string_view until_retry = R"({"retry":25)";  ///< with the number
  std::string_view until_jid;                       ///< with the jid
  std::string_view head;                            ///< jobtype, and created_at if it is stored
  std::string_view rest;
  std::string_view raw_jid;
  std::int64_t retry = kRetryDefault;

  /// Where created_at begins in `head`, or the end of that. No string has these bytes inside: they
  /// would stand behind backslashes.
  [[nodiscard]] std::size_t created_at() const;
};

/// Appends the body for these members to `out`. They must have a jid, a jobtype and args; the rest
/// may be absent.
void encode_work_unit(const JobMembers& members, std::string& out);

/// nullopt: no work unit was stored like that. The body may come from a disk and is not trusted:
/// what is found lies inside of it, but need not be JSON.
[[nodiscard]] std::optional<StoredForm> decode_work_unit(std::string_view body);

}  // namespace millrace::faktory
