#pragma once

#include <cstdint>
#include <string>

#include "core/model/types.hpp"
#include "tools/import/binlog_reader.hpp"

/// Bytes as beanstalkd writes them.
namespace millrace::tools {

/// The version, which a file begins with.
[[nodiscard]] std::string binlog_head(std::int32_t version);

struct WrittenJob {
  JobId id = 1;
  std::string tube = {};  ///< empty: a change
  std::string body = {};
  BinlogRecord::State state = BinlogRecord::State::kReady;
  Pri pri = 1024;
  std::uint64_t delay_ns = 0;
  std::uint64_t ttr_ns = 60'000'000'000;
  std::uint64_t created_ns = 1;
  std::uint64_t deadline_ns = 0;
};

/// A record of version 7.
[[nodiscard]] std::string binlog_record(const WrittenJob& job);

}  // namespace millrace::tools
