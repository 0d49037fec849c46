#pragma once

#include <libpq-fe.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace millrace::engines::postgres {

using ResultPointer = std::unique_ptr<PGresult, decltype(&PQclear)>;

/// What a statement is given, in the form that the server stores: bigint, boolean, and bytes. The
/// bytes, and the text of an id, must live until the statement was sent.
class Parameters {
 public:
  Parameters& number(std::uint64_t value) {
    std::array<char, 8>& bytes = numbers_[static_cast<std::size_t>(count_)];
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (56 - 8 * i));
    return bytes_of(bytes.data(), bytes.size());
  }
  Parameters& boolean(bool value) { return bytes_of(value ? "\1" : "\0", 1); }
  Parameters& bytes(std::string_view value) { return bytes_of(value.data(), value.size()); }
  Parameters& text(const std::string& value) {
    bytes_of(value.c_str(), value.size());
    formats_[static_cast<std::size_t>(count_ - 1)] = 0;
    return *this;
  }

  /// False when libpq cannot send it. Results come in the server's own form, too.
  [[nodiscard]] bool send(PGconn* connection, const char* statement) const {
    return PQsendQueryPrepared(connection, statement, count_, values_.data(), lengths_.data(),
                               formats_.data(), 1) == 1;
  }

 private:
  static constexpr std::size_t kMax = 5;

  Parameters& bytes_of(const char* begin, std::size_t length) {
    const auto place = static_cast<std::size_t>(count_++);
    values_.at(place) = begin;
    lengths_[place] = static_cast<int>(length);
    formats_[place] = 1;
    return *this;
  }

  int count_ = 0;
  std::array<const char*, kMax> values_{};
  std::array<int, kMax> lengths_{};
  std::array<int, kMax> formats_{};
  std::array<std::array<char, 8>, kMax> numbers_;
};

/// A bigint of a result in the server's own form; 0 for null.
[[nodiscard]] inline std::uint64_t number_at(const PGresult* result, int row, int column) {
  std::uint64_t value = 0;
  for (int i = 0; i < PQgetlength(result, row, column); ++i) {
    value = value << 8 | static_cast<unsigned char>(PQgetvalue(result, row, column)[i]);
  }
  return value;
}

}  // namespace millrace::engines::postgres
