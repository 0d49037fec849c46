#include "server/relay/name_lookup.hpp"

#include <pthread.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <cstring>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

namespace millrace::server {
namespace {

using asio::ip::tcp;

/// nullopt: there is no such host, as far as `flags` let it be looked for.
std::optional<SocketName> look_up(const Address& address, tcp::resolver::flags flags) {
  asio::io_context context;
  std::error_code problem;
  const auto found = tcp::resolver(context).resolve(
      address.host, std::to_string(address.port), flags | tcp::resolver::numeric_service, problem);
  if (found.empty()) return std::nullopt;
  // As a port is opened: an IPv4 address first.
  const auto is_v4 = [](const auto& each) { return each.endpoint().address().is_v4(); };
  const auto v4 = std::find_if(found.begin(), found.end(), is_v4);
  const tcp::endpoint chosen = v4 != found.end() ? v4->endpoint() : found.begin()->endpoint();
  SocketName name;
  std::memcpy(&name.storage, chosen.data(), chosen.size());
  name.size = static_cast<socklen_t>(chosen.size());
  return name;
}

}  // namespace

struct NameLookup::Question {
  mutable std::mutex mutex;  ///< protects all the following
  Poller* poller = nullptr;  ///< null: nobody waits for the answer
  State state = State::kAsking;
  SocketName name;

  void answer(const std::optional<SocketName>& found) {
    const std::lock_guard guard(mutex);
    state = found ? State::kFound : State::kNotFound;
    if (found) name = *found;
    if (poller != nullptr) poller->wake();
  }
};

void NameLookup::begin(const Address& address) {
  forget();
  // Shared: the thread may outlive the lookup.
  question_ = std::make_shared<Question>();
  question_->poller = &poller_;
  if (const auto number = look_up(address, tcp::resolver::numeric_host))
    return question_->answer(number);
  try {
    std::thread([question = question_, address] {
      pthread_setname_np(pthread_self(), "lookup");
      question->answer(look_up(address, {}));
    }).detach();
  } catch (const std::system_error&) {
    question_->answer(std::nullopt);  // No room for a thread.
  }
}

void NameLookup::forget() {
  if (!question_) return;
  {
    const std::lock_guard guard(question_->mutex);
    question_->poller = nullptr;
  }
  question_.reset();
}

NameLookup::State NameLookup::state() const {
  if (!question_) return State::kNone;
  const std::lock_guard guard(question_->mutex);
  return question_->state;
}

SocketName NameLookup::name() const {
  const std::lock_guard guard(question_->mutex);
  return question_->name;
}

}  // namespace millrace::server
