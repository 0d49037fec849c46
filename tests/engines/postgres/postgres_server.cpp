#include "engines/postgres/postgres_server.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "engines/open.hpp"
#include "support/doctest.hpp"

namespace millrace::engines::postgres_server {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

Connection connect() {
  Connection connection(PQconnectdb(environment("MILLRACE_POSTGRES").c_str()), &PQfinish);
  REQUIRE(PQstatus(connection.get()) == CONNECTION_OK);
  return connection;
}

std::string execute_on(PGconn* connection, const std::string& sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection, sql.c_str()),
                                                             &PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  const bool is_done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  REQUIRE_MESSAGE(is_done, PQerrorMessage(connection));
  return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

/// The server hears of a changed file a moment later.
void reload(const std::string& name, const std::string& change) {
  const Connection connection = connect();
  const std::string before = execute_on(connection.get(), "SHOW " + name);
  execute_on(connection.get(), "ALTER SYSTEM " + change);
  execute_on(connection.get(), "SELECT pg_reload_conf()");
  for (int i = 0; i < 1000; ++i) {
    if (execute("SHOW " + name) != before) return;
  }
  FAIL("the setting does not change");
}

}  // namespace

bool is_there() {
  return !environment("MILLRACE_POSTGRES").empty();
}

std::string url(const std::string& more) {
  static int count = 0;
  const std::string table = "log_" + std::to_string(++count);
  return environment("MILLRACE_POSTGRES") + "?" + more + (more.empty() ? "" : "&") +
         "millrace_log=" + table;
}

void tell(const std::string& order) {
  int read = -1;
  int write = -1;
  const std::string control = environment("MILLRACE_POSTGRES_CONTROL");
  REQUIRE(std::sscanf(control.c_str(), "%d,%d", &read, &write) == 2);
  const std::string line = order + "\n";
  REQUIRE(::write(write, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  char answer[16] = {};
  REQUIRE(::read(read, answer, sizeof answer) == 5);
}

std::string execute(const std::string& sql) {
  return execute_on(connect().get(), sql);
}

Setting::Setting(std::string name, const std::string& value) : name_(std::move(name)) {
  reload(name_, "SET " + name_ + " = '" + value + "'");
}

Setting::~Setting() {
  reload(name_, "RESET " + name_);
}

StoppedWriter::StoppedWriter(const std::string& table, journal::Sequence sequence)
    : connection_(connect()) {
  REQUIRE(PQenterPipelineMode(connection_.get()) == 1);
  const std::string sql = "INSERT INTO " + table + " VALUES (" + std::to_string(sequence) +
                          ", true, gen_random_uuid(), 'x')";
  REQUIRE(PQsendQueryParams(connection_.get(), sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr,
                            0) == 1);
  REQUIRE(PQsendFlushRequest(connection_.get()) == 1);
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQgetResult(connection_.get()),
                                                             &PQclear);
  REQUIRE(PQresultStatus(result.get()) == PGRES_COMMAND_OK);
}

SilentServer::SilentServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
  const std::string url = environment("MILLRACE_POSTGRES");
  const std::size_t at = url.rfind(':') + 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(url.c_str() + at)));
  const int on = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listener_, 16) == 0);
}

SilentServer::~SilentServer() {
  for (const int taken : taken_) ::close(taken);
  ::close(listener_);
}

std::size_t SilentServer::take() {
  for (int taken = 0; taken >= 0;) {
    taken = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK);
    if (taken >= 0) taken_.push_back(taken);
  }
  return taken_.size();
}

std::size_t SilentServer::refuse_tls() {
  take();
  for (const int taken : taken_) {
    char request[8];
    if (::recv(taken, request, sizeof request, 0) != sizeof request) continue;
    REQUIRE(::send(taken, "N", 1, MSG_NOSIGNAL) == 1);
    refused_.push_back(taken);
  }
  return refused_.size();
}

bool SilentServer::has_heard_all() {
  char byte = 0;
  return std::ranges::all_of(refused_,
                             [&](int refused) { return ::recv(refused, &byte, 1, MSG_PEEK) >= 0; });
}

OpenLog new_log() {
  return [where = url()] {
    auto log = open_postgres_log(where, {.allows_unsynced = true});
    REQUIRE_MESSAGE(log.has_value(), (log ? "" : log.error().text));
    return std::move(*log);
  };
}

}  // namespace millrace::engines::postgres_server
