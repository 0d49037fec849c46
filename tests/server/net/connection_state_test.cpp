#include "server/net/connection_state.hpp"

#include <set>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

using State = ConnectionState;
using Event = ConnectionEvent;

constexpr State kConnectionStates[] = {State::kOpen, State::kHalfOpen, State::kLingering,
                                       State::kClosed};
constexpr Event kEvents[] = {Event::kInputEnded, Event::kFinished, Event::kBroken};

TEST_CASE("connection state: each row of the table is the state that it is meant for") {
  CHECK(std::size(kConnectionStates) == kConnectionStateCount);
  CHECK(std::size(kEvents) == kConnectionEventCount);
  for (std::size_t i = 0; i < kConnectionStateCount; ++i) {
    CHECK(static_cast<std::size_t>(kConnectionStates[i]) == i);
  }
}

TEST_CASE("connection state: whatever breaks a connection closes it") {
  for (const State state : {State::kOpen, State::kHalfOpen, State::kLingering}) {
    CHECK(next_state(state, Event::kBroken) == State::kClosed);
  }
}

TEST_CASE("connection state: nothing happens to a closed connection") {
  for (const Event event : kEvents) CHECK_FALSE(next_state(State::kClosed, event));
}

TEST_CASE("connection state: no event leaves it where it was, so each happens once") {
  for (const State state : kConnectionStates) {
    for (const Event event : kEvents) CHECK(next_state(state, event) != state);
  }
}

TEST_CASE("connection state: every state is reached, and the way is never back") {
  std::set<State> reached = {State::kOpen};
  for (const State state : kConnectionStates) {
    for (const Event event : kEvents) {
      const std::optional<State> next = next_state(state, event);
      if (!next) continue;
      CHECK(static_cast<int>(*next) > static_cast<int>(state));
      reached.insert(*next);
    }
  }
  CHECK(reached.size() == kConnectionStateCount);
}

TEST_CASE("connection state: our side lingers unless the client has closed its own") {
  CHECK(next_state(State::kOpen, Event::kFinished) == State::kLingering);
  CHECK(next_state(State::kHalfOpen, Event::kFinished) == State::kClosed);
  CHECK(next_state(State::kLingering, Event::kInputEnded) == State::kClosed);
}

}  // namespace
}  // namespace millrace::server
