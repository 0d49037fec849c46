#include "access/users.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

namespace millrace::access {
namespace {

constexpr std::string_view kEveryQueue = "*";

/// A client may name queues without end. These are forgotten, and looked up again.
constexpr std::size_t kKnownQueuesMax = 256;

bool covers(const Grant& grant, const std::string& queue) {
  return std::ranges::any_of(grant.queues, [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), queue.c_str(), 0) == 0;
  });
}

}  // namespace

Rights User::rights_for(std::string_view queue) const {
  const std::string text(queue);
  Rights all;
  for (const Grant& grant : grants) {
    if (covers(grant, text)) all.add(grant.may);
  }
  return all;
}

Rights User::rights_everywhere() const {
  Rights all;
  for (const Grant& grant : grants) {
    if (std::ranges::find(grant.queues, kEveryQueue) != grant.queues.end()) all.add(grant.may);
  }
  return all;
}

Rights User::rights_anywhere() const {
  Rights all;
  for (const Grant& grant : grants) all.add(grant.may);
  return all;
}

bool TrustedProxy::is_at(std::string_view address) const {
  return std::ranges::find(addresses, address) != addresses.end();
}

Users::Users(std::vector<User> users, TrustedProxy proxy)
    : users_(std::move(users)), proxy_(std::move(proxy)) {
  for (const User& user : users_) {
    by_name_.emplace(user.name, &user);
    for (const std::string& text : user.secrets) secrets_.push_back({text, &user});
  }
}

const User* Users::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::vector<std::string> Caller::patterns(Right right) const {
  std::vector<std::string> all;
  if (user_ == nullptr) return all;
  for (const Grant& grant : user_->grants) {
    if (grant.may.has(right)) all.insert(all.end(), grant.queues.begin(), grant.queues.end());
  }
  return all;
}

bool Caller::is_unchanged_in(const SharedUsers& users) const {
  if (user_ == nullptr) return users == nullptr;
  const User* const same = users ? users->find(user_->name) : nullptr;
  if (same == nullptr || same->grants != user_->grants) return false;
  return secret_.empty() || std::ranges::find(same->secrets, secret_) != same->secrets.end();
}

Rights Caller::rights_for(std::string_view queue) const {
  if (user_ == nullptr) return {};
  if (!queue.empty() && queue == last_queue_) return last_rights_;
  auto found = known_.find(queue);
  if (found == known_.end()) {
    if (known_.size() >= kKnownQueuesMax) known_.clear();
    found = known_.emplace(queue, user_->rights_for(queue)).first;
  }
  last_queue_ = queue;
  return last_rights_ = found->second;
}

}  // namespace millrace::access
