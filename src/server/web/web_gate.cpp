#include "server/web/web_gate.hpp"

#include <exception>
#include <string>
#include <utility>

namespace millrace::server {

void WebGate::ask(Question question, Answer answer) {
  {
    const std::lock_guard guard(mutex_);
    if (!is_closed_) {
      asked_.push_back({std::move(question), std::move(answer)});
      if (!std::exchange(is_posted_, true)) poller_.post([this] { run(); });
      return;
    }
  }
  answer(std::nullopt);
}

/// An exception is our bug or a lack of memory: it costs the one who asked an answer, and nobody
/// else anything.
http::Response WebGate::answer_to(const Question& question) {
  try {
    return question();
  } catch (const std::exception& exception) {
    return http::refuse(500, std::string("the server failed: ") + exception.what());
  }
}

void WebGate::run() {
  for (int i = 0; i < kQuestionsPerTurn; ++i) {
    std::unique_lock lock(mutex_);
    if (asked_.empty()) return void(is_posted_ = false);
    Call call = std::move(asked_.front());
    asked_.pop_front();
    lock.unlock();
    call.response = answer_to(call.question);
    if (call.response.is_change) {
      pending_.push_back(std::move(call));
      turn_.enlist(*this);
    } else {
      call.answer(std::move(call.response));
    }
  }
  poller_.post([this] { run(); });
}

std::optional<Lsn> WebGate::bind(Lsn lsn) {
  for (Call& each : pending_) {
    if (!each.lsn) each.lsn = lsn;
  }
  return pending_.empty() ? std::nullopt : std::optional(lsn);
}

void WebGate::let_go(Lsn durable) {
  while (!pending_.empty() && pending_.front().lsn && *pending_.front().lsn <= durable) {
    pending_.front().answer(std::move(pending_.front().response));
    pending_.pop_front();
  }
}

void WebGate::close(bool is_all_durable) {
  for (Call& each : pending_) {
    each.answer(is_all_durable ? std::optional(std::move(each.response)) : std::nullopt);
  }
  pending_.clear();
  const std::lock_guard guard(mutex_);
  is_closed_ = true;
  for (const Call& call : asked_) call.answer(std::nullopt);
  asked_.clear();
}

}  // namespace millrace::server
