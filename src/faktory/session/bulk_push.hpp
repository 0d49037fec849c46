#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/broker/broker.hpp"
#include "core/model/types.hpp"
#include "faktory/json/array_cutter.hpp"
#include "faktory/service.hpp"

namespace millrace::faktory {

/// A PUSHB at work, in slices between other clients' commands: first all jobs are read, since none
/// is pushed if the array is not valid, then they are pushed.
class BulkPush {
 public:
  BulkPush(std::string_view json, Time started_at);
  BulkPush(const BulkPush&) = delete;
  BulkPush& operator=(const BulkPush&) = delete;

  /// Works one slice. True: that was all, and the reply was appended to `out`.
  [[nodiscard]] bool work(Shared& shared, Time now, std::string& out);

 private:
  /// A job that is not pushed yet. It owns what its parts view.
  struct Part {
    std::string jid;
    std::string queue;
    std::string body;
    NewJob job;
  };

  [[nodiscard]] Outcome<Done> read_slice(JobReader& reader);
  void take(const JobMembers& members);
  void push_slice(Broker& broker, Time now);
  void append_reply(std::string& out) const;

  const std::string json_;
  const Time started_at_;
  ArrayCutter cutter_;
  bool is_read_ = false;
  std::vector<Part> parts_;
  std::size_t pushed_ = 0;
  std::map<std::string, std::string> faults_;  ///< jid to text
};

/// A slice ends when it has read so much, or one job more.
inline constexpr std::size_t kBulkSliceBytes = 64 * 1024;

}  // namespace millrace::faktory
