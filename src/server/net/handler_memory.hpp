#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {

/// Where an operation of Asio is kept while it waits, for an object that has one at a time: so that
/// to wait allocates nothing. A handler asks for it by `HandlerAllocator`.
class HandlerMemory {
 public:
  [[nodiscard]] void* take(std::size_t bytes) {
    CHECK(!std::exchange(is_taken_, true) && bytes <= bytes_.size());
    return bytes_.data();
  }
  void give_back() { is_taken_ = false; }

 private:
  alignas(std::max_align_t) std::array<std::byte, 192> bytes_;
  bool is_taken_ = false;
};

/// See the requirements of allocators in the standard. The memory outlives the operation.
template <typename Value>
class HandlerAllocator {
 public:
  using value_type = Value;

  explicit HandlerAllocator(HandlerMemory& memory) : memory_(&memory) {}
  template <typename Other>
  explicit HandlerAllocator(const HandlerAllocator<Other>& other) : memory_(other.memory_) {}

  [[nodiscard]] Value* allocate(std::size_t count) {
    return static_cast<Value*>(memory_->take(count * sizeof(Value)));
  }
  void deallocate(Value*, std::size_t) { memory_->give_back(); }

  bool operator==(const HandlerAllocator&) const = default;

 private:
  template <typename Other>
  friend class HandlerAllocator;
  HandlerMemory* memory_;
};

}  // namespace millrace::server
