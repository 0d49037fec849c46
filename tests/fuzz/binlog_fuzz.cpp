// Binlogs: any bytes are read or refused, and what was read lies in them.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "beanstalk/argument.hpp"
#include "beanstalk/command.hpp"
#include "tools/import/binlog_reader.hpp"

namespace {

using namespace millrace;
using namespace millrace::tools;

void expect(bool is_true) {
  if (!is_true) std::abort();
}

void check_record(const BinlogRecord& record, std::string_view bytes) {
  expect(record.id != 0);
  expect(record.state <= BinlogRecord::State::kDelayed);
  expect(record.delay >= Duration{} && record.ttr >= Duration{});
  if (!record.is_whole) return;
  expect(!record.tube.empty() && record.tube.size() <= beanstalk::kTubeNameBytesMax);
  (void)beanstalk::is_tube_name(record.tube);
  expect(record.body_at <= bytes.size() && record.body_bytes <= bytes.size() - record.body_at);
  expect(bytes.substr(record.body_at + record.body_bytes).starts_with("\r\n"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto reader = BinlogReader::open(bytes);
  if (!reader) {
    expect(!reader.error().text.empty());
    return 0;
  }
  std::size_t offset = 0;
  while (const auto record = reader->next()) {
    expect(reader->offset() > offset);
    offset = reader->offset();
    check_record(*record, bytes);
  }
  expect(size == 0 || reader->offset() <= size || reader->end() == BinlogReader::End::kWhole);
  return 0;
}
