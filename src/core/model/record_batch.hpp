#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace millrace {

/// Records in their encoded form, one after the other. They need not begin where their memory does:
/// so a record can be completed around a body of megabytes that is in place already.
class RecordBatch {
 public:
  RecordBatch() = default;
  RecordBatch(std::string bytes, std::size_t begin = 0)  // NOLINT: meant to convert
      : bytes_(std::move(bytes)), begin_(begin) {}
  RecordBatch(const char* bytes) : bytes_(bytes) {}  // NOLINT: meant to convert

  [[nodiscard]] std::string_view view() const { return std::string_view(bytes_).substr(begin_); }
  [[nodiscard]] std::size_t size() const { return bytes_.size() - begin_; }
  [[nodiscard]] bool empty() const { return size() == 0; }

  operator std::string_view() const { return view(); }          // NOLINT: meant to convert
  operator std::string() const { return std::string(view()); }  // NOLINT: meant to convert

 private:
  std::string bytes_;
  std::size_t begin_ = 0;
};

}  // namespace millrace
