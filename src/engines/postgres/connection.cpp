#include "engines/postgres/connection.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "engines/postgres/statements.hpp"
#include "journal/shared/log_service.hpp"

namespace millrace::engines::postgres {
namespace {

using journal::uninterrupted;

constexpr std::size_t kHeadBytes = 5;  ///< the type, and the length of the rest with itself
/// libpq takes 30,000 bytes while it logs in.
constexpr std::size_t kMessageBytesMax = 32768;
constexpr std::uint32_t kAuthenticationOk = 0;
constexpr std::uint32_t kCleartextPassword = 3;

std::uint32_t word_at(const std::string& bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

bool is_request(const std::string& message, std::uint32_t kind) {
  return message.size() >= kHeadBytes + 4 && message.front() == 'R' &&
         word_at(message, kHeadBytes) == kind;
}

bool is_logging_in(const PGconn& connection) {
  const ConnStatusType status = PQstatus(&connection);
  return status == CONNECTION_SSL_STARTUP || status == CONNECTION_AWAITING_RESPONSE ||
         status == CONNECTION_AUTH_OK;
}

/// An end of our pair. The sockets that libpq opens itself go to other machines.
bool is_local_socket(int socket) {
  sockaddr_storage name{};
  socklen_t bytes = sizeof name;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &bytes) == 0 &&
         name.ss_family == AF_UNIX;
}

/// Between attempts to connect, so that a server that is away is not asked all the time.
constexpr std::chrono::milliseconds kAttemptGap(100);
/// A connection that is dropped so soon is likely to be dropped again for the same reason.
constexpr std::chrono::seconds kShortLife(1);
/// One attempt goes through all hosts.
constexpr auto kAttemptMax = 2 * journal::kAnswerMax;

std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c != '\n' && c != '\t' && c != '\r') {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

/// What libpq says where no server was reached has no code, and it has none for what a server says
/// to a new connection. Only what lasts until somebody changes a setting ends a node.
bool is_passing(std::string_view text) {
  constexpr std::string_view kLasting[] = {
      "authentication failed", "pg_hba.conf",          "does not exist", "permission denied",
      "permitted to log in",   "no password supplied", "certificate",    "does not support SSL"};
  return std::ranges::none_of(
      kLasting, [text](std::string_view part) { return text.find(part) != text.npos; });
}

/// What to do about it; empty: the text says so itself.
std::string remedy_for(std::string_view text) {
  constexpr std::string_view kOfTls[] = {"does not support SSL", "certificate verify failed",
                                         "does not match host name", "root certificate file"};
  const bool is_of_tls =
      std::ranges::any_of(kOfTls, [text](auto part) { return text.find(part) != text.npos; });
  if (!is_of_tls) return {};
  return ". PostgreSQL on another machine needs ssl = on, and a certificate for its name in the "
         "URL from a CA of the system or of --log-ca; sslmode in the URL relaxes this";
}

/// The same of what a server says to a statement, by the class of its SQLSTATE: a data directory
/// that is being replaced, a server that is promoted or out of memory have classes of their own.
bool is_passing(const PGresult& result) {
  constexpr std::string_view kLasting[] = {
      "0A",  // feature not supported
      "22",  // data exception
      "28",  // invalid authorization
      "3D",  // invalid catalog name
      "3F",  // invalid schema name
      "42",  // syntax error or access rule violation
  };
  const char* code = PQresultErrorField(&result, PG_DIAG_SQLSTATE);
  const std::string_view kind = code == nullptr ? "" : std::string_view(code).substr(0, 2);
  return std::ranges::find(kLasting, kind) == std::end(kLasting);
}

/// Why the server may lose what it acknowledged; empty when it does not.
std::string why_unsynced(const PGresult& checks) {
  const auto value = [&](CheckColumn column) -> std::string {
    return PQgetvalue(&checks, 0, static_cast<int>(column));
  };
  if (value(CheckColumn::kFsync) != "on") return "fsync is off";
  if (value(CheckColumn::kFullPageWrites) != "on") return "full_page_writes is off";
  const std::string commit = value(CheckColumn::kSynchronousCommit);
  if (commit != "on" && commit != "remote_apply") {
    return "synchronous_commit is " + commit + ", not on or remote_apply";
  }
  if (value(CheckColumn::kStandbyNames).empty()) return "synchronous_standby_names is empty";
  return "";
}

}  // namespace

std::size_t ClearLogin::missing_bytes() const {
  if (awaits_tls_answer_) return 1 - message_.size();
  if (message_.size() < kHeadBytes) return kHeadBytes - message_.size();
  const std::size_t whole = 1 + std::size_t{word_at(message_, 1)};
  return whole > message_.size() ? whole - message_.size() : 0;
}

bool ClearLogin::hand_on() {
  if (!server_) return true;
  std::array<char, 4096> bytes;
  while (const std::size_t missing = missing_bytes()) {
    const ssize_t got = uninterrupted([&] {
      return ::recv(server_->get(), bytes.data(), std::min(missing, bytes.size()), MSG_DONTWAIT);
    });
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (got <= 0 || message_.size() > kMessageBytesMax) {
      hang_up();
      return true;
    }
    message_.append(bytes.data(), static_cast<std::size_t>(got));
  }
  if (is_request(message_, kCleartextPassword)) return false;
  const ssize_t sent = ::send(libpq_->get(), message_.data(), message_.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(message_.size())) hang_up();
  if (awaits_tls_answer_ && message_ != "S" && message_ != "N") hang_up();
  is_over_ = awaits_tls_answer_ ? message_ == "S" : is_request(message_, kAuthenticationOk);
  awaits_tls_answer_ = false;
  message_.clear();
  return true;
}

/// libpq finds that the server is gone.
void ClearLogin::hang_up() {
  ::shutdown(libpq_->get(), SHUT_RDWR);
}

void ClearLogin::follow(PGconn& connection) {
  if (server_ && !is_local_socket(PQsocket(&connection)))
    end();  // it has gone on to another server
  if (!server_) {
    if (PQsslInUse(&connection) != 0) return;
    if (!is_logging_in(connection)) is_over_ = false;
    if (!is_logging_in(connection) || is_over_) return;
    awaits_tls_answer_ = PQstatus(&connection) == CONNECTION_SSL_STARTUP;
    return begin(PQsocket(&connection));
  }
  std::array<char, 4096> bytes;
  ssize_t got = 0;
  while ((got = ::recv(libpq_->get(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
    const auto size = static_cast<std::size_t>(got);
    if (::send(server_->get(), bytes.data(), size, MSG_NOSIGNAL) != got) return hang_up();
  }
  if (!is_over_) return;
  ::dup3(server_->get(), PQsocket(&connection), O_CLOEXEC);
  end();
  is_over_ = true;
}

void ClearLogin::begin(int socket) {
  std::array<int, 2> pair;
  const int kinds = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  if (::socketpair(AF_UNIX, kinds, 0, pair.data()) != 0) {
    ::shutdown(socket, SHUT_RDWR);
    return;
  }
  server_.emplace(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  libpq_.emplace(pair[1]);
  if (!server_->is_open() || ::dup3(pair[0], socket, O_CLOEXEC) < 0) ::shutdown(socket, SHUT_RDWR);
  ::close(pair[0]);
}

void ClearLogin::end() {
  server_.reset();
  libpq_.reset();
  message_.clear();
  is_over_ = false;
}

std::string text_of(const PGresult& result) {
  const char* primary = PQresultErrorField(&result, PG_DIAG_MESSAGE_PRIMARY);
  return in_one_line(primary != nullptr ? primary : PQresultErrorMessage(&result));
}

Connection::Connection(Target target, Settings settings)
    : target_(std::move(target)),
      settings_(std::move(settings)),
      connection_(nullptr, &PQfinish),
      last_result_(nullptr, &PQclear) {}

bool Connection::connect() {
  const Time now = Clock::now();
  if (state_ != State::kDown || now < next_attempt_) return false;
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const auto& [keyword, value] : target_.parameters) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  connection_.reset(PQconnectStartParams(keywords.data(), values.data(), 0));
  begun_ = now;
  login_.reset();
  if (target_.may_be_clear && PQlibVersion() < kRequireAuthSince) login_.emplace();
  wanted_ = PGRES_POLLING_WRITING;
  state_ = State::kConnecting;
  if (!connection_ || PQstatus(connection_.get()) == CONNECTION_BAD) {
    fail();
    return true;
  }
  PQsetNoticeReceiver(connection_.get(), &Connection::note, this);
  return true;
}

void Connection::fail() {
  const std::string text =
      connection_ ? in_one_line(PQerrorMessage(connection_.get())) : "out of memory";
  drop(text.empty() ? "the connection was lost" : text + remedy_for(text));
  problem_.is_passing = is_passing(text);
}

/// It would be dropped again for that.
void Connection::refuse(std::string why) {
  drop(std::move(why));
  problem_.is_passing = false;
}

void Connection::drop(std::string why) {
  if (state_ != State::kReady) target_.rotate_hosts();
  const Time now = Clock::now();
  if (state_ != State::kReady || now - begun_ < kShortLife) next_attempt_ = now + kAttemptGap;
  last_result_.reset();
  connection_.reset();
  problem_.text = "PostgreSQL: " + std::move(why);
  problem_.is_passing = true;
  state_ = State::kDown;
}

pollfd Connection::interest() const {
  if (state_ == State::kDown) return {-1, 0, 0};
  const bool reads = state_ != State::kConnecting || wanted_ == PGRES_POLLING_READING;
  const bool writes = state_ == State::kConnecting ? !reads : PQflush(connection_.get()) == 1;
  if (reads && login_ && login_->socket() >= 0) return {login_->socket(), POLLIN, 0};
  return {PQsocket(connection_.get()),
          static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)), 0};
}

void Connection::advance() {
  if (state_ == State::kDown || state_ == State::kReady) return;
  if (Clock::now() - begun_ > kAttemptMax) return drop("the server does not answer");
  if (state_ == State::kConnecting) go_on_connecting();
  if (state_ == State::kChecking) go_on_checking();
  if (state_ == State::kPreparing) go_on_preparing();
}

void Connection::go_on_connecting() {
  if (login_ && !login_->hand_on()) return refuse("the server asks for the password without TLS");
  const bool reads = wanted_ == PGRES_POLLING_READING;
  pollfd socket = {PQsocket(connection_.get()), static_cast<short>(reads ? POLLIN : POLLOUT), 0};
  if (::poll(&socket, 1, 0) == 0) return;
  wanted_ = PQconnectPoll(connection_.get());
  if (login_) login_->follow(*connection_);
  if (wanted_ == PGRES_POLLING_FAILED) return fail();
  if (wanted_ != PGRES_POLLING_OK) return;
  PQsetnonblocking(connection_.get(), 1);
  const char* table = target_.table.c_str();
  if (PQsendQueryParams(connection_.get(), kCheck, 1, nullptr, &table, nullptr, nullptr, 0) != 1) {
    return fail();
  }
  state_ = State::kChecking;
}

void Connection::go_on_checking() {
  const ResultPointer result = take_result();
  if (result) check(*result);
}

void Connection::check(const PGresult& result) {
  const std::string why = why_unsynced(result);
  if (!why.empty() && !settings_.allows_unsynced) {
    return refuse("the server may lose what it acknowledged: " + why);
  }
  has_table_ = PQgetisnull(&result, 0, static_cast<int>(CheckColumn::kTable)) == 0;
  if (!has_table_ && !settings_.allows_no_table) {
    return refuse("the table " + target_.table + " of the log is gone");
  }
  const char* comment = PQgetvalue(&result, 0, static_cast<int>(CheckColumn::kComment));
  if (has_table_ && std::string_view(comment) != kTableComment) {
    return refuse("the table " + target_.table + " is not a log of this version of Millrace");
  }
  id_ = PQgetvalue(&result, 0, static_cast<int>(CheckColumn::kId));
  state_ = State::kPreparing;
  step_ = 0;
  was_warned_ = false;
  next_step();
}

void Connection::go_on_preparing() {
  while (state_ == State::kPreparing) {
    if (!take_result()) return;
    ++step_;
    next_step();
  }
}

void Connection::next_step() {
  if (step_ == settings_.steps.size()) {
    if (was_warned_) return drop(kDidNotWait);
    state_ = State::kReady;
    return;
  }
  const Step& step = settings_.steps[step_];
  const int sent = step.name.empty() ? PQsendQuery(connection_.get(), step.sql.c_str())
                                     : PQsendPrepare(connection_.get(), step.name.c_str(),
                                                     step.sql.c_str(), 0, nullptr);
  if (sent != 1) fail();
}

ResultPointer Connection::take_result() {
  ResultPointer none(nullptr, &PQclear);
  if (PQflush(connection_.get()) < 0 || PQconsumeInput(connection_.get()) != 1) {
    fail();
    return none;
  }
  while (PQisBusy(connection_.get()) == 0) {
    ResultPointer result(PQgetResult(connection_.get()), &PQclear);
    if (!result) return std::exchange(last_result_, std::move(none));
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
      drop(text_of(*result));
      problem_.is_passing = is_passing(*result);
      return none;
    }
    last_result_ = std::move(result);
  }
  return none;
}

void Connection::note(void* self, const PGresult* result) {
  const char* severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity != nullptr && std::string_view(severity) == "WARNING") {
    static_cast<Connection*>(self)->was_warned_ = true;
  }
}

}  // namespace millrace::engines::postgres
