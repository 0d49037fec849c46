#include "server/relay/name_lookup.hpp"

#include <netdb.h>
#include <pthread.h>

#include <cstring>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

namespace millrace::server {
namespace {

/// nullopt: there is no such host, as far as `flags` let it be looked for.
std::optional<SocketName> look_up(const Address& address, int flags) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const std::string port = std::to_string(address.port);
  if (getaddrinfo(address.host.c_str(), port.c_str(), &wanted, &list) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(list, &freeaddrinfo);
  // As a port is opened: an IPv4 address first.
  const addrinfo* chosen = list;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (each->ai_family != AF_INET) continue;
    chosen = each;
    break;
  }
  SocketName name;
  std::memcpy(&name.storage, chosen->ai_addr, chosen->ai_addrlen);
  name.size = chosen->ai_addrlen;
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
  if (const auto number = look_up(address, AI_NUMERICHOST)) return question_->answer(number);
  try {
    std::thread([question = question_, address] {
      pthread_setname_np(pthread_self(), "lookup");
      question->answer(look_up(address, 0));
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
