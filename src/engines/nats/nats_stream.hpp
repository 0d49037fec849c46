#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engines/nats/nats_connection.hpp"
#include "engines/nats_url.hpp"
#include "engines/open.hpp"
#include "journal/shared/log_service.hpp"

namespace millrace::engines {

/// The stream that holds a log: one subject, whole files, nothing removed but by `trim`.
class NatsStream {
 public:
  /// Uses a connection that outlives it.
  NatsStream(NatsConnection& connection, std::string name);
  ~NatsStream();

  /// Makes the stream where there is none, unless `check` would refuse it.
  [[nodiscard]] Outcome<Done> make(const NatsUrl& url, const Options& options);
  /// Refuses a stream that is not a log of ours, has other replicas than the URL says, or may lose
  /// what it acknowledged.
  [[nodiscard]] Outcome<Done> check(const NatsUrl& url, const Options& options);

  /// As the leader of the stream says. Refused when it has not heard from most of the others
  /// lately: then another one may lead.
  [[nodiscard]] Outcome<journal::LogService::Extent> extent();

  /// A message, as the leader of the stream has it; none where the stream has no such message, or
  /// nobody answers at once. Unlike a consumer, this needs no leader of all NATS servers.
  [[nodiscard]] std::optional<NatsMessage> message(journal::Sequence sequence);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& subject() const { return subject_; }

 private:
  struct DestroyContext {
    void operator()(jsCtx* context) const { jsCtx_Destroy(context); }
  };

  [[nodiscard]] Outcome<Done> open_context();
  [[nodiscard]] Outcome<Done> add_stream(int replicas, const Options& options);
  [[nodiscard]] Outcome<Done> check_synced(const NatsUrl& url);

  NatsConnection& connection_;
  std::string name_;
  std::string subject_;
  std::unique_ptr<jsCtx, DestroyContext> context_;
};

}  // namespace millrace::engines
