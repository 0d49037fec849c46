#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace millrace::server {

/// Those that are to be called, in order. Any of them may be removed while others are called, and
/// is not called then. The list owns nobody.
template <typename Member>
class CallList {
 public:
  void add(Member& member) { members_.push_back(&member); }

  /// Takes time for the length of the list: members leave far less often than they are called.
  void remove(const Member& member) {
    // The places of the others stay, since the list may be being walked.
    std::replace(members_.begin(), members_.end(), const_cast<Member*>(&member),
                 static_cast<Member*>(nullptr));
  }

  /// Calls `call` with each member that is there now. Those that are added meanwhile are left out.
  template <typename Call>
  void call_each(Call call) {
    const std::size_t count = members_.size();
    // By index and looked up each time: a call may add members, which moves them all.
    for (std::size_t i = 0; i < count; ++i) {
      if (members_[i] != nullptr) call(*members_[i]);
    }
  }

  void clear() { members_.clear(); }

  /// Those that were removed count until `clear`.
  [[nodiscard]] bool is_empty() const { return members_.empty(); }
  [[nodiscard]] std::size_t size() const { return members_.size(); }

  void swap(CallList& other) noexcept { members_.swap(other.members_); }

 private:
  std::vector<Member*> members_;  ///< null: removed meanwhile
};

}  // namespace millrace::server
