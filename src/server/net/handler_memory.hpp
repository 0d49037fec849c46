#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <utility>

namespace millrace::server {

/// Where an operation of Asio is kept while it waits, for an object that has one at a time: so that
/// to wait allocates nothing. A handler asks for it by `HandlerAllocator`.
class HandlerMemory {
 public:
  [[nodiscard]] void* take(std::size_t bytes) {
    return bytes <= bytes_.size() && !std::exchange(is_taken_, true) ? bytes_.data()
                                                                     : ::operator new(bytes);
  }
  void give_back(void* memory) {
    memory == bytes_.data() ? void(is_taken_ = false) : ::operator delete(memory);
  }

 private:
  /// A read of Asio 1.22 takes 120 bytes. What does not fit is allocated.
  alignas(std::max_align_t) std::array<std::byte, 128> bytes_;
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
  void deallocate(Value* value, std::size_t) { memory_->give_back(value); }

  bool operator==(const HandlerAllocator&) const = default;

 private:
  template <typename Other>
  friend class HandlerAllocator;
  HandlerMemory* memory_;
};

}  // namespace millrace::server
