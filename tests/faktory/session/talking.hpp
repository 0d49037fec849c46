#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "faktory/job/work_unit.hpp"
#include "faktory/service.hpp"
#include "faktory/session/auth.hpp"
#include "support/doctest.hpp"
#include "support/in_memory_server.hpp"

/// What clients say in the tests of the session, and how its answers are read.
namespace millrace::faktory {

using test::InMemoryServer;
using test::Protocol;

inline constexpr std::string_view kHi = "+HI {\"v\":2}\r\n";

/// A producer or worker that has shaken hands.
inline void join(InMemoryServer& server, const std::string& name, const std::string& wid = "") {
  server.connect(name, Protocol::kFaktory);
  CHECK(server.take_output(name) == kHi);
  CHECK(server.ask(name, "HELLO {\"v\":2,\"wid\":\"" + wid + "\"}\r\n") == "+OK\r\n");
}

/// A session without a connection, which the test drives itself. It has shaken hands.
struct LoneSession {
  LoneSession() {
    session->start(server.now());
    session->receive("HELLO {\"v\":2}\n", server.now());
    (void)session->take_output();
  }
  ~LoneSession() { session->close(server.now()); }
  LoneSession(const LoneSession&) = delete;
  LoneSession& operator=(const LoneSession&) = delete;

  InMemoryServer server;
  WorkUnits format;
  Service service{server.broker(), format, {}, server.now()};
  const std::unique_ptr<Session> session = service.open();
};

inline std::string job(const std::string& jid, const std::string& more = "") {
  return R"({"jid":")" + jid + R"(","jobtype":"T","args":[],"created_at":"c")" + more + "}";
}

/// The payload of a bulk reply.
inline std::string payload(const std::string& reply) {
  const std::size_t start = reply.find("\r\n") + 2;
  return reply.substr(start, reply.size() - start - 2);
}

inline std::string info(InMemoryServer& server, const std::string& name) {
  return payload(server.ask(name, "INFO\r\n"));
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// What a client sends for a password: the whole hash, made in one slice.
inline std::string password_hash(std::string_view password, const Challenge& challenge) {
  PasswordHash hash(password, challenge);
  CHECK(hash.work(challenge.iterations));
  return hash.text();
}

}  // namespace millrace::faktory
