#include "core/broker/features/activity.hpp"

#include <algorithm>

namespace millrace {
namespace {

constexpr Duration kAttemptsTogether = std::chrono::minutes(1);

}  // namespace

void Activity::write(Number number, Change change) {
  if (watch_) watch_(number, change);
  ledger_.commit(ChangeNoted{.number = number, .change = std::move(change)});
}

Activity::Number Activity::note(Change change, std::uint64_t operation) {
  const Number number = log().end();
  if (operation != 0) operations_[operation] = number;
  change.shorten();
  write(number, std::move(change));
  return number;
}

void Activity::finish(Number number, std::uint64_t changed) {
  const Change* const noted = log().find(number);
  if (noted == nullptr) return;
  Change change = *noted;
  change.count_jobs(changed);
  write(number, std::move(change));
}

void Activity::finish_operation(std::uint64_t operation, std::uint64_t changed) {
  const auto found = operations_.find(operation);
  if (found == operations_.end()) return;
  finish(found->second, changed);
  operations_.erase(found);
}

std::uint64_t Activity::operation_of(Number number) const {
  const auto found = std::ranges::find(operations_, number, &Operations::value_type::second);
  return found == operations_.end() ? 0 : found->first;
}

void Activity::refuse(Change change, const std::string& peer) {
  work(change.at);
  if (!admission_.admits_jobs()) return;
  const bool is_user = peer.empty();
  const auto key_of = [&] {
    const std::string who = is_user                         ? "user " + change.user
                            : change.from == kManyAddresses ? kManyAddresses
                                                            : change.protocol + " address " + peer;
    return std::pair(who, change.action);
  };
  if (!attempts_.contains(key_of()) && attempts_.size() >= kRefusedApartMax) {
    if (is_user) {
      change.action = kManyActions;
    } else {
      change.from = kManyAddresses;
      change.user.clear();
    }
    change.target.clear();
    change.client.clear();
  }
  const auto [place, is_new] = attempts_.try_emplace(key_of());
  Attempts& attempts = place->second;
  ++attempts.count;
  if (!is_new) return add_name(attempts, change.user);
  attempts.since = change.at;
  next_due_ = std::min(next_due_, change.at + kAttemptsTogether);
  change.outcome = ChangeOutcome::kRefused;
  change.count = 1;
  attempts.number = note(std::move(change));
}

/// Whoever guesses passwords tries several names from one address.
void Activity::add_name(Attempts& attempts, const std::string& name) {
  const Change* const noted = log().find(attempts.number);
  if (name.empty() || noted == nullptr || noted->user == name) return;
  const std::string added = ", " + name;
  if (attempts.names.size() + added.size() > kTriedNamesMax) return;
  const std::string ends = attempts.names + ',';
  if (ends.find(added + ',') == std::string::npos) attempts.names += added;
}

void Activity::work(Time now) {
  if (now < next_due_) return;
  next_due_ = kNever;
  for (auto at = attempts_.begin(); at != attempts_.end();) {
    const auto& [number, since, count, names] = at->second;
    if (now < since + kAttemptsTogether) {
      next_due_ = std::min(next_due_, since + kAttemptsTogether);
      ++at;
      continue;
    }
    const Change* const noted = log().find(number);
    if (noted != nullptr && count > 1) {
      Change change = *noted;
      change.count = count;
      if (!names.empty()) change.details += "; also as" + names.substr(1);
      change.shorten();
      write(number, std::move(change));
    }
    at = attempts_.erase(at);
  }
}

}  // namespace millrace
