#include "tools/import/binlog_reader.hpp"

#include <string>

#include "beanstalk/argument.hpp"
#include "support/doctest.hpp"
#include "tools/import/binlog_bytes.hpp"

namespace millrace::tools {
namespace {

/// A record of version 7: without a tube, a change.
std::string record_of(JobId id, const std::string& tube, const std::string& body) {
  return binlog_record({.id = id, .tube = tube, .body = body});
}

const std::string kHead = binlog_head(7);

BinlogReader::End end_of(const std::string& bytes, int records) {
  auto reader = BinlogReader::open(bytes);
  REQUIRE(reader);
  int found = 0;
  while (reader->next()) ++found;
  CHECK(found == records);
  return reader->end();
}

}  // namespace

TEST_CASE("binlog: a record has the job, its tube and its body") {
  const std::string bytes = kHead + record_of(7, "mail", "hello");
  auto reader = BinlogReader::open(bytes);
  REQUIRE(reader);
  const auto record = reader->next();
  REQUIRE(record);
  CHECK(record->id == 7);
  CHECK(record->pri == 1024);
  CHECK(record->ttr == 60s);
  CHECK(record->tube == "mail");
  CHECK(bytes.substr(record->body_at, record->body_bytes) == "hello");
  CHECK(reader->offset() == bytes.size());
}

TEST_CASE("binlog: a record without a tube is a change") {
  const std::string bytes = kHead + record_of(7, "", "");
  auto reader = BinlogReader::open(bytes);
  REQUIRE(reader);
  const auto record = reader->next();
  REQUIRE(record);
  CHECK_FALSE(record->is_whole);
}

TEST_CASE("binlog: zeros end a file, however many") {
  const std::string bytes = kHead + record_of(7, "mail", "hello");
  CHECK(end_of(bytes + std::string(3, '\0'), 1) == BinlogReader::End::kWhole);
  CHECK(end_of(bytes + std::string(10'000, '\0'), 1) == BinlogReader::End::kWhole);
  CHECK(end_of(std::string(4096, '\0'), 0) == BinlogReader::End::kWhole);
  CHECK(end_of("", 0) == BinlogReader::End::kWhole);
}

TEST_CASE("binlog: a file that ends within a record is cut") {
  const std::string whole = kHead + record_of(7, "mail", "hello");
  const std::string second = record_of(8, "mail", "again");
  for (std::size_t size = 1; size < second.size(); ++size) {
    CHECK(end_of(whole + second.substr(0, size), 1) == BinlogReader::End::kCut);
  }
}

TEST_CASE("binlog: a file that ends within its first record is cut, too") {
  const std::string record = record_of(7, "mail", "hello");
  for (std::size_t size = 1; size < record.size(); ++size) {
    CHECK(end_of(kHead + record.substr(0, size), 0) == BinlogReader::End::kCut);
  }
}

TEST_CASE("binlog: a record whose rest was never written is torn, in a file of its full length") {
  const std::string whole = kHead + record_of(7, "mail", "hello");
  const std::string second = record_of(8, "mail", "again");
  for (std::size_t size = 1; size < second.size(); ++size) {
    const std::string bytes = whole + second.substr(0, size) + std::string(4096, '\0');
    CHECK(end_of(bytes, 1) == BinlogReader::End::kTorn);
  }
}

TEST_CASE("binlog: zeros in the middle of a file are damage") {
  const std::string second = record_of(8, "mail", "again");
  const std::string zeros(second.size(), '\0');
  const std::string whole = kHead + record_of(7, "mail", "hello");
  CHECK(end_of(whole + zeros + second, 1) == BinlogReader::End::kDamaged);
  CHECK(end_of(whole + second.substr(0, 90) + zeros + second, 1) == BinlogReader::End::kDamaged);
}

TEST_CASE("binlog: a body without its line end is damage") {
  std::string bytes = kHead + record_of(7, "mail", "hello");
  bytes.back() = 'x';
  CHECK(end_of(bytes, 0) == BinlogReader::End::kDamaged);
}

TEST_CASE("binlog: a name of 200 bytes is read, one of 201 is damage") {
  CHECK(end_of(kHead + record_of(7, std::string(200, 'a'), ""), 1) == BinlogReader::End::kWhole);
  CHECK(end_of(kHead + record_of(7, std::string(201, 'a'), ""), 0) == BinlogReader::End::kDamaged);
}

TEST_CASE("binlog: an unknown state is damage") {
  std::string bytes = kHead + record_of(7, "", "");
  bytes[4 + 4 + 76] = 5;
  CHECK(end_of(bytes, 0) == BinlogReader::End::kDamaged);
}

TEST_CASE("binlog: names of tubes are those that the protocol allows") {
  CHECK(beanstalk::is_tube_name("a-b+c/d;e.f$g_h()"));
  CHECK_FALSE(beanstalk::is_tube_name("-a"));
  CHECK_FALSE(beanstalk::is_tube_name("a b"));
  CHECK_FALSE(beanstalk::is_tube_name(""));
  CHECK_FALSE(beanstalk::is_tube_name(std::string(201, 'a')));
}

}  // namespace millrace::tools
