#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/check.hpp"
#include "core/model/codec.hpp"
#include "core/state/log_order.hpp"

namespace millrace {

/// What a live kind (`live_kind.hpp`) does with the log where each of its things has one record,
/// which is written anew when the thing changes. `Kind` derives from this, and has
///
/// * `LogNode& node_of(Slot)`, of a thing in the log;
/// * `record_in(Slot)`: the record of the thing, as it is now.
template <typename Kind>
class LiveRecords {
 public:
  using Slot = std::uint32_t;

  LiveRecords() = default;
  LiveRecords(const LiveRecords&) = delete;
  LiveRecords& operator=(const LiveRecords&) = delete;

  [[nodiscard]] std::optional<Lsn> oldest_place() const { return log_.oldest_place(); }
  void rewrite_oldest(std::string& batch) {
    const Slot slot = log_.oldest().value();
    encode(kind().record_in(slot), batch);
    log_.remove(slot);
    log_.push_newest(slot, 0);
  }
  void place(Lsn begin) {
    log_.place(begin, [](Slot) {});
  }
  [[nodiscard]] std::uint64_t live_bytes() const { return record_bytes_; }

 protected:
  ~LiveRecords() = default;

  /// Its record was written into the batch. A batch is never cut, so its beginning will do as the
  /// place.
  void enter_log(Slot slot) {
    log_.push_newest(slot, 0);
    record_bytes_ += encoded_bytes(kind().record_in(slot));
  }

  /// Before the thing changes, since its record's length is counted as it is now.
  void leave_log(Slot slot) {
    const std::uint64_t bytes = encoded_bytes(kind().record_in(slot));
    CHECK(bytes <= record_bytes_);
    record_bytes_ -= bytes;
    log_.remove(slot);
  }

 private:
  struct NodeOf {
    LiveRecords* records;
    LogNode& operator()(Slot slot) const { return records->kind().node_of(slot); }
  };

  Kind& kind() { return static_cast<Kind&>(*this); }

  LogOrder<NodeOf> log_{NodeOf{this}};
  std::uint64_t record_bytes_ = 0;
};

}  // namespace millrace
