#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/broker/broker.hpp"
#include "core/model/types.hpp"
#include "faktory/json/array_cutter.hpp"
#include "faktory/shared.hpp"

namespace millrace::faktory {

/// A PUSHB at work, in slices between other clients' commands. First it reads all jobs, since none
/// may be pushed if the array is not valid JSON. Then it pushes them.
class BulkPush {
 public:
  BulkPush(std::string_view json, Time started_at);
  BulkPush(const BulkPush&) = delete;
  BulkPush& operator=(const BulkPush&) = delete;

  /// Works one slice. True: it was the last one, and the reply was appended to `out`.
  [[nodiscard]] bool work(Shared& shared, Time now, std::string& out);

 private:
  /// A job that was read and is not pushed yet. `push_slice` sets the views in `job`: parts move
  /// in memory while their list grows.
  struct Part {
    std::string jid;
    std::string queue;
    std::string body;
    NewJob job;
  };

  [[nodiscard]] Outcome<Done> read_slice(Shared& shared);
  void take(const JobMembers& members, WallClock clock);
  void push_slice(Shared& shared, Time now);
  void append_reply(std::string& out) const;

  const std::string json_;
  const Time started_at_;
  ArrayCutter cutter_;
  bool is_read_ = false;
  std::vector<Part> parts_;
  std::size_t pushed_ = 0;
  std::map<std::string, std::string> refused_;  ///< the text of each refusal, by jid
};

/// A slice that reads ends with the job that takes it past this.
inline constexpr std::size_t kBulkSliceBytes = 64 * 1024;

}  // namespace millrace::faktory
