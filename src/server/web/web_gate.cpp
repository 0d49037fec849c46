#include "server/web/web_gate.hpp"

#include <condition_variable>
#include <exception>
#include <string>
#include <utility>

namespace millrace::server {

struct WebGate::Call {
  std::mutex mutex;
  std::condition_variable is_over;
  bool is_answered = false;
  std::optional<http::Response> response;

  void answer(std::optional<http::Response> with) {
    const std::lock_guard guard(mutex);
    if (std::exchange(is_answered, true)) return;
    response = std::move(with);
    is_over.notify_all();
  }
};

std::optional<http::Response> WebGate::ask(std::chrono::seconds patience, Question question) {
  // Shared: see CallPointer.
  const auto call = std::make_shared<Call>();
  {
    const std::lock_guard guard(mutex_);
    if (is_closed_) return std::nullopt;
    calls_.insert(call);
  }
  poller_.post([this, call, question = std::move(question)] { run(call, question); });
  std::optional<http::Response> response;
  {
    std::unique_lock lock(call->mutex);
    call->is_over.wait_for(lock, patience, [&] { return call->is_answered; });
    call->is_answered = true;
    response = std::move(call->response);
  }
  const std::lock_guard guard(mutex_);
  calls_.erase(call);
  return response;
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

void WebGate::run(const CallPointer& call, const Question& question) {
  http::Response response = answer_to(question);
  if (!response.is_change) return call->answer(std::move(response));
  pending_.push_back({.call = call, .response = std::move(response), .lsn = std::nullopt});
  turn_.enlist(*this);
}

std::optional<Lsn> WebGate::bind(Lsn lsn, Lsn durable) {
  for (Pending& each : pending_) {
    if (!each.lsn) each.lsn = lsn;
  }
  send_durable(durable);
  return pending_.empty() ? std::nullopt : std::optional(lsn);
}

void WebGate::send_durable(Lsn durable) {
  while (!pending_.empty() && pending_.front().lsn && *pending_.front().lsn <= durable) {
    pending_.front().call->answer(std::move(pending_.front().response));
    pending_.pop_front();
  }
}

void WebGate::close(bool is_all_durable) {
  for (Pending& each : pending_) {
    if (is_all_durable) {
      each.call->answer(std::move(each.response));
    } else {
      each.call->answer(std::nullopt);
    }
  }
  pending_.clear();
  const std::lock_guard guard(mutex_);
  is_closed_ = true;
  for (const CallPointer& call : calls_) call->answer(std::nullopt);
}

}  // namespace millrace::server
