#include "core/broker/tasks/long_tasks.hpp"

namespace millrace {
namespace {

std::uint64_t changed_by(const LongTask& task) {
  return std::visit([](const auto& kind) { return kind.changed; }, task);
}

bool ends_with_client(const LongTask& task) {
  return std::visit([](const auto& kind) { return kind.kEndsWithClient; }, task);
}

}  // namespace

bool LongTasks::work_slice(LongTask& task, Time now) {
  return std::visit([&](auto& kind) { return kind.work(context_, now); }, task);
}

std::optional<std::uint64_t> LongTasks::start(ClientId client, LongTask task, Time now) {
  // Most tasks are short: their reply comes at once.
  if (work_slice(task, now)) return changed_by(task);
  waiting_.push_back({.client = client, .task = std::move(task)});
  return std::nullopt;
}

void LongTasks::work(Time now) {
  if (waiting_.empty()) return;
  // One slice a tick, and then the next task: the time between two turns does not grow with their
  // number.
  Started started = std::move(waiting_.front());
  waiting_.pop_front();
  Client* client = clients_.find(started.client);
  // A kick may stop half-way. FLUSH, MUTATE and the like are carried out to their end.
  if (client == nullptr && ends_with_client(started.task)) return;
  if (!work_slice(started.task, now)) {
    waiting_.push_back(std::move(started));
  } else if (client != nullptr) {
    clients_.deliver(
        *client,
        {.kind = Delivery::Kind::kFinished, .job = nullptr, .count = changed_by(started.task)},
        now);
  }
}

}  // namespace millrace
