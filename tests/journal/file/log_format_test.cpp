#include "journal/file/log_format.hpp"

#include <string>

#include "base/text.hpp"
#include "support/doctest.hpp"
#include "support/edited_log.hpp"

namespace millrace::journal {
namespace {

constexpr FramePlace kPlace{.lsn = 0x1000, .salt = 0x0123456789abcdef};

std::string frame_of(std::string_view payload, Lsn durable = 0x0800, FramePlace place = kPlace) {
  const auto header = encode_frame_header(payload, durable, place);
  std::string bytes(header.data(), header.size());
  bytes += payload;
  bytes.resize(frame_bytes(payload.size()));
  return bytes;
}

std::string header_of(const SegmentHeader& header) {
  const auto bytes = encode_segment_header(header);
  return {bytes.data(), bytes.size()};
}

/// How many single flipped bits in [0, size) the bytes still decode with.
template <typename Decode>
std::size_t flips_unnoticed(std::string bytes, std::size_t size, Decode decode) {
  std::size_t unnoticed = 0;
  for (std::size_t bit = 0; bit < size * 8; ++bit) {
    const char mask = static_cast<char>(1 << (bit % 8));
    bytes[bit / 8] ^= mask;
    if (decode(bytes)) ++unnoticed;
    bytes[bit / 8] ^= mask;
  }
  return unnoticed;
}

}  // namespace

TEST_CASE("format: the bytes of an extent") {
  const auto bytes = encode_extent(
      {.oldest = 0x0102030405060708, .newest = 0x1112131415161718, .end = 0x2122232425262728});
  const std::string whole(bytes.data(), bytes.size());
  CHECK(hex_of(whole) ==
        "6d696c6c72657874"
        "0807060504030201"
        "1817161514131211"
        "2827262524232221"
        "ba8690dbe4f3dda6");
  CHECK(decode_extent(whole)->oldest == 0x0102030405060708);
  CHECK(decode_extent(whole)->newest == 0x1112131415161718);
  CHECK(decode_extent(whole)->end == 0x2122232425262728);
  CHECK_FALSE(decode_extent(whole.substr(1)));
  CHECK(flips_unnoticed(whole, whole.size(), [](std::string_view flipped) {
          return decode_extent(flipped).has_value();
        }) == 0);
}

TEST_CASE("format: an extent without the end of the log is read too") {
  const auto extent =
      decode_extent(std::string("millrext\x08\x07\x06\x05\x04\x03\x02\x01"
                                "\x18\x17\x16\x15\x14\x13\x12\x11"
                                "\x5c\x77\xe0\x04\x6a\x66\x5a\x91",
                                kShortExtentBytes));
  REQUIRE(extent);
  CHECK(extent->oldest == 0x0102030405060708);
  CHECK(extent->newest == 0x1112131415161718);
  CHECK(extent->end == 0);
}

TEST_CASE("format: the bytes of a segment header") {
  CHECK(hex_of(header_of({.first = 0x0102030405060708, .salt = 0x1112131415161718})) ==
        "6d696c6c72616365"
        "01000000"
        "00000000"
        "0807060504030201"
        "1817161514131211"
        "091919832b6ce912");
}

TEST_CASE("format: the bytes of a frame") {
  CHECK(hex_of(frame_of("hello")) ==
        "2e12a3b59b28ca58"
        "ae56bd72"
        "05000000"
        "0008000000000000"
        "68656c6c6f000000");
}

TEST_CASE("format: a segment header is read as it was written") {
  const SegmentHeader header{.first = 4096, .salt = 77};
  CHECK(decode_segment_header(header_of(header)) == header);
}

TEST_CASE("format: no flipped bit of a segment header is missed") {
  CHECK(flips_unnoticed(header_of({.first = 4096, .salt = 77}), kSegmentHeaderBytes,
                        [](const std::string& bytes) {
                          return decode_segment_header(bytes).has_value();
                        }) == 0);
}

TEST_CASE("format: a short segment header is none") {
  CHECK_FALSE(decode_segment_header(header_of({}).substr(0, kSegmentHeaderBytes - 1)));
  CHECK_FALSE(decode_segment_header(""));
}

TEST_CASE("format: another version is recognised, and no damaged or begun header taken for one") {
  const std::string bytes = header_of({});
  CHECK_FALSE(foreign_version(bytes));
  CHECK(foreign_version(with_version(bytes, 2)) == 2);
  CHECK_FALSE(foreign_version(with_version(bytes, 0)));
  std::string flipped = bytes;
  flipped[8] = 2;
  CHECK_FALSE(foreign_version(flipped));
  CHECK_FALSE(foreign_version("millrace"));
}

TEST_CASE("format: a frame is read as it was written") {
  const std::string bytes = frame_of("hello") + "what follows";
  const std::optional<Frame> frame = decode_frame(bytes, kPlace);
  REQUIRE(frame);
  CHECK(frame->payload == "hello");
  CHECK(frame->durable == 0x0800);
  CHECK(frame->bytes == 32);
}

TEST_CASE("format: no flipped bit of a frame's header or payload is missed") {
  CHECK(flips_unnoticed(frame_of("hello"), kFrameHeaderBytes + 5, [](const std::string& bytes) {
          return decode_frame(bytes, kPlace).has_value();
        }) == 0);
}

TEST_CASE("format: a frame is whole with its last byte of padding") {
  const std::string bytes = frame_of("hello");
  CHECK(decode_frame(bytes, kPlace));
  CHECK_FALSE(decode_frame(std::string_view(bytes).substr(0, bytes.size() - 1), kPlace));
}

TEST_CASE("format: a frame in another place or of another segment is none") {
  const std::string bytes = frame_of("hello");
  CHECK_FALSE(decode_frame(bytes, {.lsn = kPlace.lsn + 8, .salt = kPlace.salt}));
  CHECK_FALSE(decode_frame(bytes, {.lsn = kPlace.lsn, .salt = kPlace.salt + 1}));
}

TEST_CASE("format: zeros are no frame") {
  CHECK_FALSE(decode_frame(std::string(64, '\0'), {.lsn = 0, .salt = 0}));
  CHECK_FALSE(decode_frame(std::string(64, '\0'), kPlace));
}

TEST_CASE("format: frames are padded to eight bytes") {
  CHECK(frame_bytes(1) == 32);
  CHECK(frame_bytes(8) == 32);
  CHECK(frame_bytes(9) == 40);
}

TEST_CASE("format: a segment is named after its first position") {
  CHECK(segment_name(0) == "00000000000000000000.log");
  CHECK(segment_name(~Lsn{0}) == "18446744073709551615.log");
  CHECK(parse_segment_name("00000000000000001234.log") == 1234);
}

TEST_CASE("format: other names are no segments") {
  CHECK_FALSE(parse_segment_name("lock"));
  CHECK_FALSE(parse_segment_name("1234.log"));
  CHECK_FALSE(parse_segment_name("0000000000000000123x.log"));
  CHECK_FALSE(parse_segment_name("99999999999999999999.log"));
  CHECK_FALSE(parse_segment_name("00000000000000001234.log.old"));
}

}  // namespace millrace::journal
