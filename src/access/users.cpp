#include "access/users.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

namespace millrace::access {
namespace {

constexpr std::string_view kEveryQueue = "*";

/// A client may name queues without end. These are forgotten, and looked up again.
constexpr std::size_t kKnownQueuesMax = 256;

bool matches(const std::string& pattern, const std::string& queue) {
  return ::fnmatch(pattern.c_str(), queue.c_str(), 0) == 0;
}

/// Whether what matches `narrow` matches `wide`, too. If the signs of `wide` are stars alone, and
/// `narrow` has no brackets, it may be read as a name: its signs are then within the stars.
bool is_within(const std::string& narrow, const std::string& wide) {
  if (wide == kEveryQueue || narrow == wide) return true;
  const bool is_plain =
      wide.find_first_of("?[\\") == wide.npos && narrow.find_first_of("[\\") == narrow.npos;
  return is_plain && matches(wide, narrow);
}

}  // namespace

Rights Grant::rights_for(const std::string& queue) const {
  const bool is_covered = std::ranges::any_of(
      queues, [&](const std::string& pattern) { return matches(pattern, queue); });
  return is_covered ? may : Rights();
}

Rights Grant::rights_everywhere() const {
  return std::ranges::find(queues, kEveryQueue) != queues.end() ? may : Rights();
}

Rights User::rights_for(std::string_view queue) const {
  const std::string text(queue);
  Rights all;
  for (const Grant& grant : grants) all.add(grant.rights_for(text));
  return all;
}

Rights User::rights_everywhere() const {
  Rights all;
  for (const Grant& grant : grants) all.add(grant.rights_everywhere());
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
  if (token_ && !token_->rights_everywhere().has(right)) return token_->queues;
  for (const Grant& grant : user_->grants) {
    if (grant.may.has(right)) all.insert(all.end(), grant.queues.begin(), grant.queues.end());
  }
  return all;
}

bool Caller::may_all_of(Right right, const std::string& pattern) const {
  if (may_everywhere(right)) return true;
  const std::vector<std::string> mine = patterns(right);
  return std::ranges::any_of(mine, [&](const auto& each) { return is_within(pattern, each); });
}

void Caller::limit(Grant grant) {
  // Shared: see there.
  token_ = std::make_shared<const Grant>(std::move(grant));
  anywhere_ = anywhere_ & token_->may;
  known_.clear();
  last_queue_.clear();
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
    Rights rights = user_->rights_for(queue);
    if (token_) rights = rights & token_->rights_for(std::string(queue));
    found = known_.emplace(queue, rights).first;
  }
  last_queue_ = queue;
  return last_rights_ = found->second;
}

Rights Caller::rights_everywhere() const {
  const Rights rights = user_ ? user_->rights_everywhere() : Rights();
  return token_ ? rights & token_->rights_everywhere() : rights;
}

}  // namespace millrace::access
