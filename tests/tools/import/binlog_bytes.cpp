#include "tools/import/binlog_bytes.hpp"

#include <cstddef>
#include <cstring>

namespace millrace::tools {
namespace {

template <typename Number>
void put_at(std::string& bytes, std::size_t offset, Number number) {
  std::memcpy(bytes.data() + offset, &number, sizeof number);
}

std::string four_bytes(std::uint32_t number) {
  std::string bytes(4, '\0');
  put_at(bytes, 0, number);
  return bytes;
}

}  // namespace

std::string binlog_head(std::int32_t version) {
  return four_bytes(static_cast<std::uint32_t>(version));
}

std::string binlog_record(const WrittenJob& job) {
  const bool is_change = job.tube.empty();
  std::string fields(80, '\0');
  put_at<std::uint64_t>(fields, 0, job.id);
  put_at<std::uint32_t>(fields, 8, job.pri);
  put_at<std::uint64_t>(fields, 16, job.delay_ns);
  put_at<std::uint64_t>(fields, 24, job.ttr_ns);
  put_at(fields, 32, is_change ? 0 : static_cast<std::int32_t>(job.body.size() + 2));
  put_at<std::uint64_t>(fields, 40, job.created_ns);
  put_at<std::uint64_t>(fields, 48, job.deadline_ns);
  put_at(fields, 76, static_cast<std::uint8_t>(job.state));
  return four_bytes(static_cast<std::uint32_t>(job.tube.size())) + job.tube + fields +
         (is_change ? "" : job.body + "\r\n");
}

}  // namespace millrace::tools
