#pragma once

#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

/// What the calls of the system need everywhere here.
namespace millrace::journal {

/// Owns a file descriptor; negative: none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

  /// The descriptor is the caller's from now on.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// Calls again when a signal came between.
template <typename Call>
auto uninterrupted(Call call) {
  auto answer = call();
  while (answer < 0 && errno == EINTR) answer = call();
  return answer;
}

/// Gives a file that this process has just made to the owner of its directory, if this is root: the
/// service to which the directory belongs must be able to open it.
void give_to_owner_of(int directory, const char* path, const Descriptor& file);

/// What the system said to a call for `path`.
[[nodiscard]] Problem failed_to(std::string_view verb, const std::string& path, int error);

}  // namespace millrace::journal
