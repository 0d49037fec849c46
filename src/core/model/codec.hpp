#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/model/encoder.hpp"
#include "core/model/job.hpp"
#include "core/model/record.hpp"

/// The bytes of records (grammar: docs/internals/journal-format.md). Writing and counting are the
/// same code.
namespace millrace {

/// Appends the record's bytes. A whole job that a connection holds is written as ready, which it
/// becomes when the connection ends, and no connection outlives the process. A change to such a job
/// must not be encoded.
template <RecordKind Kind>
void encode(const Kind& record, std::string& out) {
  StringSink sink(out);
  Encoder(sink).record(record);
}

/// The same but for the bytes of the body, which come last.
void encode_without_body(const JobAdded& record, std::string& out);

/// The same for a record of any kind.
void encode(const Record& record, std::string& out);

/// The job's whole record (`JobAdded`), which is not made for it. The body must be in memory.
/// `attempts` are those of the job; null: it has none.
void encode(const Job& job, std::string_view queue, const Attempts* attempts, std::string& out);

/// How many bytes `encode` would append, to the byte: with fewer, a log that is as short as it can
/// be would be compacted for ever; with more, obsolete records would count as needed. The job's
/// body need not be in memory.
template <RecordKind Kind>
[[nodiscard]] std::uint64_t encoded_bytes(const Kind& record) {
  CountingSink sink;
  Encoder(sink).record(record);
  return sink.count();
}
[[nodiscard]] std::uint64_t encoded_bytes(const Job& job, std::string_view queue,
                                          const Attempts* attempts);
/// What of it may change.
[[nodiscard]] std::uint64_t encoded_bytes(const JobFields& fields);
/// What of the job's whole record changes when an attempt is added.
[[nodiscard]] std::uint64_t encoded_attempt_bytes(const Job& job, const Attempts* attempts);

/// The same of what a whole record has of them.
[[nodiscard]] std::uint64_t encoded_bytes(const Attempts& attempts);

/// Takes one record off the front of `bytes`; its views point into them.
[[nodiscard]] Outcome<Record> decode(std::string_view& bytes);

}  // namespace millrace
