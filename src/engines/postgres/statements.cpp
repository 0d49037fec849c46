#include "engines/postgres/statements.hpp"

#include <string_view>

namespace millrace::engines::postgres {
namespace {

/// Rows before one statement stops reading, or removing. 1 MiB of bytes are 540 rows of what is
/// stored besides the table.
constexpr const char* kRowsMax = "10000";
constexpr const char* kTrimmedBytesMax = "33554432";

/// @T is the table, @R the most rows, @B the most bytes removed.
std::string about(const std::string& table, std::string_view text) {
  std::string sql;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view two = text.substr(i, 2);
    if (two == "@T") {
      sql += table;
    } else if (two == "@R") {
      sql += kRowsMax;
    } else if (two == "@B") {
      sql += kTrimmedBytesMax;
    } else {
      sql += text[i];
      continue;
    }
    ++i;
  }
  return sql;
}

/// Vacuum comes after so many removed rows, however long the table is: it stays as short as what
/// is in it, and what is removed within the pause of the server's autovacuum.
constexpr std::string_view kCreate = R"(
SELECT pg_advisory_xact_lock(hashtext('millrace @T'));
CREATE TABLE IF NOT EXISTS @T (
  sequence bigint PRIMARY KEY,
  is_last boolean NOT NULL,
  writer uuid NOT NULL,
  bytes bytea NOT NULL
) WITH (
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000000,
  autovacuum_vacuum_cost_delay = 0,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 10000,
  toast.autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE @T ALTER COLUMN bytes SET STORAGE EXTERNAL;
COMMENT ON TABLE @T IS '@C')";

/// The predecessor is there and the row is not: so the log ends with the predecessor, since only
/// its beginning is ever removed. If the append of the predecessor is not answered yet, the
/// predecessor must be this connection's own.
constexpr std::string_view kAppend = R"(
INSERT INTO @T (sequence, is_last, writer, bytes)
SELECT $1::bigint, $2::boolean, $3::uuid, $4::bytea
WHERE CASE WHEN $1 = 1 THEN NOT EXISTS (SELECT FROM @T)
      ELSE EXISTS (SELECT FROM @T WHERE sequence = $1 - 1 AND (NOT $5::boolean OR writer = $3)) END
ON CONFLICT DO NOTHING)";

/// A server whose process was stopped in the middle of an entry keeps its row, and all others
/// waiting for it. Whoever appends next ends that, unless the row waits for the standby.
constexpr std::string_view kEndStopped = R"(
SELECT pg_terminate_backend(other.pid)
FROM pg_locks held JOIN pg_stat_activity other ON other.pid = held.pid
WHERE held.relation = '@T'::regclass AND held.mode = 'RowExclusiveLock' AND held.granted
  AND other.pid <> pg_backend_pid() AND other.usename = current_user
  AND other.wait_event = 'ClientRead' AND other.backend_xid IS NOT NULL
  AND other.state_change < clock_timestamp() - interval '1 second')";

/// The sizes of all rows within the limit are read, though fewer are answered.
constexpr std::string_view kFollow = R"(
SELECT sequence, is_last, bytes
FROM (SELECT sequence, is_last, bytes,
             sum(octet_length(bytes)) OVER (ORDER BY sequence) - octet_length(bytes) AS before
      FROM (SELECT sequence, is_last, bytes FROM @T WHERE sequence > $1::bigint
            ORDER BY sequence LIMIT least(@R, $2::bigint / 256 + 16)) next) sized
WHERE before < $2::bigint ORDER BY sequence)";

constexpr std::string_view kExtent = R"(
SELECT (SELECT sequence FROM @T ORDER BY sequence LIMIT 1),
       (SELECT sequence FROM @T ORDER BY sequence DESC LIMIT 1))";

/// The lower bound only saves to look at what was removed before. A step ends with an entry:
/// otherwise its remaining rows would look like a whole one.
constexpr std::string_view kTrim = R"(
WITH sized AS (
  SELECT sequence, is_last, sum(octet_length(bytes)) OVER (ORDER BY sequence) AS bytes
  FROM (SELECT sequence, is_last, bytes FROM @T
        WHERE sequence >= $1::bigint AND sequence < $2::bigint
          AND sequence < (SELECT sequence FROM @T ORDER BY sequence DESC LIMIT 1)
        ORDER BY sequence LIMIT @R) oldest),
gone AS (
  DELETE FROM @T WHERE sequence >= $1 AND sequence <=
    coalesce((SELECT max(sequence) FROM sized WHERE is_last AND bytes <= @B),
             (SELECT min(sequence) FROM sized WHERE is_last))
  RETURNING sequence)
SELECT max(sequence) FROM gone)";

}  // namespace

std::vector<Connection::Step> creation_of(const std::string& table) {
  std::string sql = about(table, kCreate);
  sql.replace(sql.find("@C"), 2, std::string(kTableComment));
  return {{"", sql}};
}

std::vector<Connection::Step> writing_to(const std::string& table) {
  return {{"", about(table, kEndStopped)}, {"append", about(table, kAppend)}};
}

std::vector<Connection::Step> reading_from(const std::string& table) {
  const std::string settle = "SELECT pg_logical_emit_message(true, 'millrace', '')";
  return {{"", settle},
          {"settle", settle},
          {"follow", about(table, kFollow)},
          {"extent", about(table, kExtent)}};
}

/// Rows that were to be removed and are there again after a crash, are removed the next time. So
/// nothing is synced for it.
std::vector<Connection::Step> trimming_of(const std::string& table) {
  return {{"", "SET synchronous_commit = off"}, {"trim", about(table, kTrim)}};
}

}  // namespace millrace::engines::postgres
