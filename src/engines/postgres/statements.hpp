#pragma once

#include <string>
#include <vector>

#include "engines/postgres/connection.hpp"

/// The table of a log, and all statements about it.
///
/// A row is a message: an entry, or a part of one that is too long for a row. All rows of an entry
/// are stored in one transaction, so there is no entry without its end.
///
/// | column    | meaning                                                            |
/// |-----------|--------------------------------------------------------------------|
/// | sequence  | from 1, without gaps                                               |
/// | is_last   | the entry ends with this row                                       |
/// | writer    | the connection that stored it: not its number alone makes it ours  |
/// | bytes     | stored as it is, since entries are compressed or small             |
namespace millrace::engines::postgres {

/// By this a table is known to be a log. Another format gets another number.
inline constexpr std::string_view kTableComment = "Millrace log, format 1";

/// What is asked on every connection: one row. $1 is the table.
enum class CheckColumn {
  kFsync,
  kFullPageWrites,
  kSynchronousCommit,
  kStandbyNames,
  kTable,
  kComment,
  kId
};
/// `synchronous_commit` is made the session's own, so that no change of the server's weakens it.
inline constexpr const char* kCheck =
    "SELECT current_setting('fsync'), current_setting('full_page_writes'),"
    " set_config('synchronous_commit', current_setting('synchronous_commit'), false),"
    " current_setting('synchronous_standby_names'), found.id,"
    " obj_description(found.id, 'pg_class'), gen_random_uuid()"
    " FROM (SELECT to_regclass($1)::oid AS id) found";

/// Makes the table, where another server does not do so at the same time.
[[nodiscard]] std::vector<Connection::Step> creation_of(const std::string& table);

/// `append`: sequence, is_last, writer, bytes, is_chained. One row when it was stored, none when
/// the log ends elsewhere.
[[nodiscard]] std::vector<Connection::Step> writing_to(const std::string& table);

/// `follow`: after, bytes. Rows of sequence, is_last, bytes.
/// `extent`: one row of the oldest and the newest sequence, null when there is none.
/// `settle`: returns once everything that can be seen is where the standby has it, too. After a
/// crash, the server shows what was waiting for the standby then.
[[nodiscard]] std::vector<Connection::Step> reading_from(const std::string& table);

/// `trim`: from, before. Removes the oldest rows, but not too many. One row: the newest sequence
/// that was removed, null when there was nothing to remove.
[[nodiscard]] std::vector<Connection::Step> trimming_of(const std::string& table);

}  // namespace millrace::engines::postgres
