#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/job.hpp"
#include "core/types.hpp"
#include "core/work_unit.hpp"
#include "faktory/job_reader.hpp"

/// How a pushed job is stored, and how every job is shown to a worker.
///
/// The body of a job of kind kWorkUnit:
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

inline constexpr std::int64_t kDefaultRetry = 25;

/// Appends the body for these members to `out`. They must have a jid, a jobtype and args; the rest
/// may be absent.
void encode_work_unit(const JobMembers& members, std::string& out);

/// Has no state but buffers. One thread at a time.
class WorkUnits final : public WorkUnitFormat {
 public:
  [[nodiscard]] Identity identify(const Job& job) const override;
  [[nodiscard]] Summary summarize(const Job& job) const override;
  void render(const Job& job, std::string_view queue, std::string& out) const override;

 private:
  mutable JobReader reader_;
};

}  // namespace millrace::faktory
