#include "engines/nats/nats_connection.hpp"

namespace millrace::engines {
namespace {

constexpr std::int64_t kConnectMaxMs = 2000;
constexpr std::int64_t kReconnectWaitMs = 50;
constexpr std::int64_t kReconnectJitterMs = 20;
/// A server that answers neither of two pings is left for another one.
constexpr std::int64_t kPingIntervalMs = 1000;
constexpr int kPingsUnansweredMax = 2;
/// A server that does not take bytes for so long is left, too.
constexpr std::int64_t kWriteMaxMs = 2000;
/// The library cannot keep nothing for the time after a disconnect. One message may still be sent
/// late. It was answered as unknown, and the sequence that it expects keeps it harmless.
constexpr int kReconnectBufferBytes = 1;

/// Nothing arrives any more for a subscription that ended so long ago.
constexpr std::chrono::minutes kEndedKept(1);

struct DestroyNatsOptions {
  void operator()(natsOptions* options) const { natsOptions_Destroy(options); }
};
using NatsOptions = std::unique_ptr<natsOptions, DestroyNatsOptions>;

void on_lost_connection(natsConnection* /*connection*/, void* mailbox) {
  static_cast<NatsMailbox*>(mailbox)->note_lost_connection();
}

/// Without a handler the library prints to the standard error output.
void on_error(natsConnection* /*connection*/, natsSubscription* /*subscription*/,
              natsStatus /*status*/, void* /*closure*/) {}

/// Keeps the first problem of a line of calls, and skips the others.
class Setter {
 public:
  template <typename Call>
  void operator()(const char* what, const Call& call) {
    if (problem_) return;
    const natsStatus status = call();
    if (status == NATS_OK) return;
    problem_ = nats_problem(status);
    problem_->text.insert(0, what);
  }
  [[nodiscard]] const std::optional<Problem>& problem() const { return problem_; }

 private:
  std::optional<Problem> problem_;
};

void set_servers(Setter& set, natsOptions* to, const NatsUrl& url) {
  std::vector<const char*> servers;
  for (const std::string& server : url.servers) servers.push_back(server.c_str());
  set("",
      [&] { return natsOptions_SetServers(to, servers.data(), static_cast<int>(servers.size())); });
  set("", [&] { return natsOptions_SetName(to, "millrace"); });
  set("", [&] { return natsOptions_SetTimeout(to, kConnectMaxMs); });
  set("", [&] { return natsOptions_SetMaxReconnect(to, -1); });
  set("", [&] { return natsOptions_SetReconnectWait(to, kReconnectWaitMs); });
  set("",
      [&] { return natsOptions_SetReconnectJitter(to, kReconnectJitterMs, kReconnectJitterMs); });
  set("", [&] { return natsOptions_SetReconnectBufSize(to, kReconnectBufferBytes); });
  set("", [&] { return natsOptions_SetFailRequestsOnDisconnect(to, true); });
  set("", [&] { return natsOptions_SetPingInterval(to, kPingIntervalMs); });
  set("", [&] { return natsOptions_SetMaxPingsOut(to, kPingsUnansweredMax); });
  set("", [&] { return natsOptions_SetWriteDeadline(to, kWriteMaxMs); });
  // Otherwise the library waits for a millisecond before it sends.
  set("", [&] { return natsOptions_SetSendAsap(to, true); });
}

void set_credentials(Setter& set, natsOptions* to, const NatsUrl& url, const Options& options) {
  std::string user = url.user;
  std::string password = url.password;
  std::string token = url.token;
  if (!options.password.empty() && url.password.empty()) {
    // A password makes the user of what alone would be a token.
    if (user.empty()) std::swap(user, token);
    if (user.empty()) token = options.password;
    if (!user.empty()) password = options.password;
  }
  if (!user.empty()) {
    set("", [&] { return natsOptions_SetUserInfo(to, user.c_str(), password.c_str()); });
  }
  if (!token.empty()) set("", [&] { return natsOptions_SetToken(to, token.c_str()); });
  if (!options.credentials_file.empty()) {
    set("the credentials file: ", [&] {
      return natsOptions_SetUserCredentialsFromFiles(to, options.credentials_file.c_str(), nullptr);
    });
  }
}

void set_tls(Setter& set, natsOptions* to, const NatsUrl& url, const Options& options) {
  if (!url.uses_tls && options.ca_file.empty() && options.certificate_file.empty()) return;
  set("", [&] { return natsOptions_SetSecure(to, true); });
  if (!options.ca_file.empty()) {
    set("the CA file: ",
        [&] { return natsOptions_LoadCATrustedCertificates(to, options.ca_file.c_str()); });
  }
  if (!options.certificate_file.empty()) {
    set("the certificate or its key: ", [&] {
      return natsOptions_LoadCertificatesChain(to, options.certificate_file.c_str(),
                                               options.key_file.c_str());
    });
  }
}

void on_closed_connection(natsConnection* /*connection*/, void* callers) {
  static_cast<NatsCallers*>(callers)->remove();
}

void set_callbacks(Setter& set, natsOptions* to, NatsMailbox& mailbox, NatsCallers& callers) {
  set("", [&] { return natsOptions_SetErrorHandler(to, on_error, nullptr); });
  set("", [&] { return natsOptions_SetDisconnectedCB(to, on_lost_connection, &mailbox); });
  set("", [&] { return natsOptions_SetClosedCB(to, on_closed_connection, &callers); });
}

}  // namespace

namespace {

bool is_passing(natsStatus status) {
  switch (status) {
    case NATS_NO_SERVER:
    case NATS_NO_SERVER_SUPPORT:
    case NATS_NO_RESPONDERS:
    case NATS_TIMEOUT:
    case NATS_IO_ERROR:
    case NATS_CONNECTION_CLOSED:
    case NATS_CONNECTION_DISCONNECTED:
    case NATS_STALE_CONNECTION:
    case NATS_SYS_ERROR:
      return true;
    default:
      return false;
  }
}

Problem described(natsStatus status) {
  switch (status) {
    case NATS_CONNECTION_AUTH_FAILED:
      return {"NATS refuses the user, password, token or credentials"};
    case NATS_NO_SERVER:
      return {"no NATS server can be reached"};
    case NATS_SECURE_CONNECTION_REQUIRED:
      return {"the NATS server demands TLS"};
    case NATS_SECURE_CONNECTION_WANTED:
      return {"the NATS server has no TLS"};
    case NATS_SSL_ERROR:
      return {"NATS: TLS failed: a certificate, key or name does not fit"};
    case NATS_MAX_PAYLOAD:
      return {"NATS: the max_payload of this server is smaller than that of the one before"};
    case NATS_SYS_ERROR:
      return {"NATS: the system gives no thread or socket"};
    case NATS_NO_RESPONDERS:
      return {"NATS: nobody answers for JetStream: it is not enabled, or has no leader now"};
    default:
      return {std::string("NATS: ") + natsStatus_GetText(status)};
  }
}

}  // namespace

Problem nats_problem(natsStatus status) {
  Problem problem = described(status);
  problem.is_passing = is_passing(status);
  return problem;
}

NatsSubscription::~NatsSubscription() {
  natsSubscription_Destroy(subscription_);
}

natsStatus NatsSubscription::begin(natsConnection* connection, const std::string& subject) {
  // It is the library's until the subscription has ended, which may be after this object.
  auto receiver = std::make_unique<Receiver>(Receiver{mailbox_, callers_, number_});
  const auto receive = [](natsConnection* /*connection*/, natsSubscription* /*subscription*/,
                          natsMsg* message, void* closure) {
    auto& to = *static_cast<Receiver*>(closure);
    to.mailbox.put(to.number, NatsMessage(message));
  };
  const auto end = [](void* closure) {
    const std::unique_ptr<Receiver> ended(static_cast<Receiver*>(closure));
    ended->callers.remove();
  };
  natsStatus status = natsConnection_Subscribe(&subscription_, connection, subject.c_str(), receive,
                                               receiver.get());
  if (status != NATS_OK) return status;
  callers_.add();
  status = natsSubscription_SetOnCompleteCB(subscription_, end, receiver.get());
  if (status != NATS_OK) {
    // The connection was closed just now. The library may still be in a call.
    callers_.remove();
    closed_ = std::move(receiver);
    return status;
  }
  static_cast<void>(receiver.release());
  return natsSubscription_SetPendingLimits(subscription_, -1, -1);
}

Outcome<std::unique_ptr<NatsConnection>> NatsConnection::open(const NatsUrl& url,
                                                              const Options& options,
                                                              NatsMailbox& mailbox) {
  std::unique_ptr<NatsConnection> made(new NatsConnection(mailbox));
  natsOptions* raw = nullptr;
  if (natsOptions_Create(&raw) != NATS_OK) return Problem{"NATS: no memory"};
  const NatsOptions library_options(raw);
  Setter set;
  set_servers(set, raw, url);
  set_credentials(set, raw, url, options);
  set_tls(set, raw, url, options);
  set_callbacks(set, raw, mailbox, made->callers_);
  set("", [&] { return natsConnection_Connect(&made->connection_, raw); });
  if (set.problem()) return *set.problem();
  made->callers_.add();
  natsInbox* inbox = nullptr;
  const natsStatus status = natsInbox_Create(&inbox);
  if (status != NATS_OK) return nats_problem(status);
  made->inbox_ = inbox;
  natsInbox_Destroy(inbox);
  return made;
}

NatsConnection::~NatsConnection() {
  if (connection_ == nullptr) return;
  natsConnection_Close(connection_);  // ends the thread that reads
  subscriptions_.clear();
  natsConnection_Destroy(connection_);
  callers_.wait_for_end();
}

bool NatsConnection::is_connected() const {
  return natsConnection_Status(connection_) == NATS_CONN_STATUS_CONNECTED;
}

bool NatsConnection::is_closed() const {
  return natsConnection_IsClosed(connection_);
}

std::optional<Problem> NatsConnection::problem() const {
  if (is_connected()) return std::nullopt;
  if (is_closed()) return nats_problem(NATS_CONNECTION_AUTH_FAILED);
  return nats_problem(NATS_NO_SERVER);
}

natsStatus NatsConnection::publish(const std::string& subject, const std::string& reply,
                                   std::string_view bytes) {
  if (!is_connected()) return NATS_CONNECTION_DISCONNECTED;
  if (reply.empty()) {
    return natsConnection_Publish(connection_, subject.c_str(), bytes.data(),
                                  static_cast<int>(bytes.size()));
  }
  return natsConnection_PublishRequest(connection_, subject.c_str(), reply.c_str(), bytes.data(),
                                       static_cast<int>(bytes.size()));
}

natsStatus NatsConnection::publish(natsMsg& message) {
  if (!is_connected()) return NATS_CONNECTION_DISCONNECTED;
  return natsConnection_PublishMsg(connection_, &message);
}

Outcome<NatsMessage> NatsConnection::request(const std::string& subject, std::string_view bytes,
                                             std::chrono::milliseconds timeout) {
  if (std::optional<Problem> lost = problem()) return *lost;
  natsMsg* answer = nullptr;
  const natsStatus status =
      natsConnection_Request(&answer, connection_, subject.c_str(), bytes.data(),
                             static_cast<int>(bytes.size()), timeout.count());
  if (status != NATS_OK) return nats_problem(status);
  return NatsMessage(answer);
}

/// Readers begin anew four times a second while a stream has no leader, for hours maybe.
NatsSubscription* NatsConnection::subscribe(const std::string& subject, NatsMailbox::Time now) {
  std::erase_if(subscriptions_, [now](const std::unique_ptr<NatsSubscription>& each) {
    return each->ended_at() && now - *each->ended_at() > kEndedKept;
  });
  auto& made = subscriptions_.emplace_back(std::make_unique<NatsSubscription>(mailbox_, callers_));
  if (made->begin(connection_, subject) == NATS_OK) return made.get();
  made->end(now);
  return nullptr;
}

}  // namespace millrace::engines
