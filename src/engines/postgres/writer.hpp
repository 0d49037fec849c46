#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engines/postgres/connection.hpp"
#include "journal/shared/log_service.hpp"

namespace millrace::engines::postgres {

/// Longer entries take several rows: this bounds what both sides keep of an entry that is on its
/// way.
inline constexpr std::size_t kRowBytesMax = std::size_t{4} * 1024 * 1024;

/// Stores entries, in the order in which they come. While the server syncs a transaction, all that
/// come are gathered into the next one.
class Writer {
 public:
  Writer(const Target& target, bool allows_unsynced);

  void append(journal::LogService::Entry entry);

  /// Does what is possible without waiting.
  void advance();
  [[nodiscard]] pollfd interest() const;
  /// When `advance` has something to do at the latest, though nothing comes.
  [[nodiscard]] Time next() const;

  /// Those since the last call, in order.
  [[nodiscard]] std::vector<journal::LogService::Answer> take_answers();

 private:
  using Refusal = journal::LogService::Refusal;

  using Entry = journal::LogService::Entry;

  void send();
  bool send_row();
  void end_group();
  void receive();
  void take_result(const PGresult& result);
  void finish_group();
  /// All that are not answered yet are refused.
  void refuse_all(Refusal refusal);
  void lose(std::string why);

  Connection connection_;
  std::deque<Entry> entries_;          ///< those without an answer
  std::size_t sent_ = 0;               ///< how many of them were sent whole
  journal::Sequence next_row_ = 0;     ///< of the one that is being sent; 0: none is
  std::size_t unflushed_bytes_ = 0;    ///< at most: what libpq keeps until the socket takes it
  std::size_t groups_ = 0;             ///< transactions that were sent whole
  journal::Sequence rows_stored_ = 0;  ///< in the transaction whose results come
  std::size_t group_entries_ = 0;      ///< of the transaction that is being sent
  std::size_t group_bytes_ = 0;
  bool is_conflict_ =
      false;        ///< a row was not stored; what is in flight does not get stored either
  Time last_sign_;  ///< of life from the server, or when it was first asked
  std::vector<journal::LogService::Answer> answers_;
  std::optional<Refusal> refusing_;  ///< all that comes, until the refusal was taken
};

}  // namespace millrace::engines::postgres
