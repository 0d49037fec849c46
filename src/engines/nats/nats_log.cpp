#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "engines/nats/nats_connection.hpp"
#include "engines/nats/nats_entry.hpp"
#include "engines/nats/nats_publisher.hpp"
#include "engines/nats/nats_reader.hpp"
#include "engines/nats/nats_stream.hpp"
#include "engines/nats_url.hpp"
#include "engines/open.hpp"

namespace millrace::engines {
namespace {

using journal::LogService;
using journal::Sequence;
using Time = NatsMailbox::Time;

/// Between two tries to connect anew.
constexpr std::chrono::seconds kReopenWait(1);
/// No wait is longer, so nobody adds up times beyond what clocks can say.
constexpr LogService::Duration kWaitMax = std::chrono::hours(1);

Time nats_now() {
  return std::chrono::steady_clock::now();
}

/// One connection, and what belongs to it.
struct NatsParts {
  explicit NatsParts(std::unique_ptr<NatsConnection> opened, const std::string& name)
      : connection(std::move(opened)),
        stream(*connection, name),
        publisher(*connection, name, stream.subject()),
        reader(*connection, stream) {}

  std::unique_ptr<NatsConnection> connection;
  NatsStream stream;
  NatsPublisher publisher;
  NatsReader reader;
  const NatsSubscription* trims = nullptr;
  std::uint64_t lost_connections = 0;  ///< that publisher and reader know of
};

enum class IfMissing { kMake, kRefuse };

Outcome<std::unique_ptr<NatsParts>> open_parts(const NatsUrl& url, const Options& options,
                                               NatsMailbox& mailbox, IfMissing if_missing) {
  auto connection = NatsConnection::open(url, options, mailbox);
  if (!connection) return connection.error();
  auto parts = std::make_unique<NatsParts>(std::move(*connection), url.stream);
  if (if_missing == IfMissing::kMake) {
    if (const auto made = parts->stream.make(url, options); !made) return made.error();
  }
  if (const auto checked = parts->stream.check(url, options); !checked) return checked.error();
  if (const auto opened = parts->publisher.open(nats_now()); !opened) return opened.error();
  parts->trims = parts->connection->subscribe(parts->connection->inbox() + ".trim", nats_now());
  if (parts->trims == nullptr) return nats_problem(NATS_CONNECTION_DISCONNECTED);
  parts->lost_connections = mailbox.lost_connections();
  return parts;
}

class NatsLog final : public LogService {
 public:
  NatsLog(NatsUrl url, Options options) : url_(std::move(url)), options_(std::move(options)) {}

  [[nodiscard]] Outcome<Done> open() {
    auto parts = open_parts(url_, options_, mailbox_, IfMissing::kMake);
    if (!parts) return parts.error();
    parts_ = std::move(*parts);
    part_bytes_max_ = parts_->publisher.part_bytes_max();
    return Done{};
  }

  [[nodiscard]] Sequence message_count(std::size_t bytes) const override {
    return nats_message_count(bytes, part_bytes_max_);
  }

  [[nodiscard]] Outcome<Extent> extent() override {
    if (const auto reopened = reopen(); !reopened) return reopened.error();
    return parts_->stream.extent();
  }

  [[nodiscard]] Outcome<Chunk> follow(Sequence after, std::size_t bytes_max,
                                      Duration longest) override;

  void append(Entry entry) override {
    // Who leads does not follow: the server need not send everything back.
    parts_->reader.stop(nats_now());
    note_mail(nats_now());
    parts_->publisher.append(std::move(entry), nats_now());
  }

  [[nodiscard]] std::vector<Answer> answers(Duration longest) override;
  [[nodiscard]] Outcome<Done> trim(Sequence before) override;
  void wake() noexcept override { mailbox_.wake(); }

 private:
  [[nodiscard]] Outcome<Done> reopen();
  [[nodiscard]] Outcome<Done> open_anew();
  bool note_mail(Time until);
  void note_trim(const natsMsg& answer);

  NatsUrl url_;
  Options options_;
  NatsMailbox mailbox_;
  Time reopened_at_{};
  std::unique_ptr<NatsParts> parts_;
  /// Besides `parts_`, which are replaced while another thread may ask.
  std::atomic<std::size_t> part_bytes_max_ = 1;
  std::optional<Problem> trim_problem_;  ///< what came of the last trim
};

Time end_of_wait(LogService::Duration longest) {
  return nats_now() + std::chrono::duration_cast<Time::duration>(std::min(longest, kWaitMax));
}

/// Hands out what has arrived, and waits for it until then. Answers whether `wake` was called.
bool NatsLog::note_mail(Time until) {
  NatsMailbox::Mail mail = mailbox_.take(until, parts_->lost_connections);
  const Time now = nats_now();
  // The library connects by itself, maybe to a server that takes other lengths.
  part_bytes_max_ = parts_->publisher.part_bytes_max();
  for (NatsMailbox::Arrival& arrival : mail.arrivals) {
    if (parts_->publisher.receive(arrival, now) || parts_->reader.receive(arrival, now)) continue;
    if (arrival.subscription == parts_->trims->number()) note_trim(*arrival.message);
  }
  if (std::exchange(parts_->lost_connections, mail.lost_connections) != mail.lost_connections) {
    parts_->publisher.lose_connection();
    parts_->reader.lose_connection(now);
  }
  return mail.is_woken;
}

/// Where the library has given up, connects anew once all appends have their answers. Where the
/// server is slow, connects to any of them, and leaves the slow one when that has worked.
Outcome<Done> NatsLog::reopen() {
  if (parts_->reader.is_slow() && parts_->publisher.is_idle()) {
    if (nats_now() - reopened_at_ >= kReopenWait) static_cast<void>(open_anew());
    return Done{};
  }
  if (!parts_->connection->is_closed()) return Done{};
  const Problem closed = nats_problem(NATS_CONNECTION_AUTH_FAILED);
  note_mail(nats_now());
  if (parts_->publisher.has_answers() || nats_now() - reopened_at_ < kReopenWait) return closed;
  return open_anew();
}

Outcome<Done> NatsLog::open_anew() {
  auto parts = open_parts(url_, options_, mailbox_, IfMissing::kRefuse);
  reopened_at_ = nats_now();
  // Of the new connection; or of the one that ends with the old parts.
  if (!parts && parts_->connection->is_connected()) {
    parts_->lost_connections = mailbox_.lost_connections();
  }
  if (!parts) return parts.error();
  parts_ = std::move(*parts);
  parts_->lost_connections = mailbox_.lost_connections();
  return Done{};
}

Outcome<LogService::Chunk> NatsLog::follow(Sequence after, std::size_t bytes_max,
                                           Duration longest) {
  const Time end = end_of_wait(longest);
  const Outcome<Done> reopened = reopen();
  NatsReader& reader = parts_->reader;
  bool is_over = note_mail(nats_now());
  reader.seek(after, nats_now());
  for (;;) {
    reader.proceed(bytes_max, nats_now());
    if (reader.has_result() || is_over) break;
    is_over = note_mail(std::min(end, reader.due())) || nats_now() >= end;
  }
  if (!reader.has_result()) {
    if (!reopened) return reopened.error();
    if (std::optional<Problem> lost = parts_->connection->problem()) return *lost;
  }
  return reader.take();
}

std::vector<LogService::Answer> NatsLog::answers(Duration longest) {
  const Time end = end_of_wait(longest);
  NatsPublisher& publisher = parts_->publisher;
  bool is_over = note_mail(nats_now());
  for (;;) {
    publisher.proceed(nats_now());
    if (publisher.has_answers() || is_over) return publisher.take_answers();
    is_over = note_mail(std::min(end, publisher.due().value_or(end))) || nats_now() >= end;
  }
}

/// Asks for it. What came of it is told by the next call, since it may take long.
Outcome<Done> NatsLog::trim(Sequence before) {
  note_mail(nats_now());
  if (std::optional<Problem> lost = parts_->connection->problem()) return *lost;
  const natsStatus status = parts_->connection->publish(
      "$JS.API.STREAM.PURGE." + parts_->stream.name(), parts_->connection->inbox() + ".trim",
      "{\"seq\":" + std::to_string(before) + "}");
  if (status != NATS_OK) return nats_problem(status);
  if (trim_problem_) return *std::exchange(trim_problem_, std::nullopt);
  return Done{};
}

void NatsLog::note_trim(const natsMsg& answer) {
  const std::string_view text = bytes_of(answer);
  if (text.find("\"success\":true") != std::string_view::npos) return;
  trim_problem_ = Problem{"the stream " + parts_->stream.name() + " was not trimmed"};
}

}  // namespace

Outcome<std::unique_ptr<LogService>> open_nats_log(const std::string& url, const Options& options) {
  const auto parsed = parse_nats_url(url);
  if (!parsed) return parsed.error();
  auto log = std::make_unique<NatsLog>(*parsed, options);
  if (const auto opened = log->open(); !opened) return opened.error();
  return std::unique_ptr<LogService>(std::move(log));
}

}  // namespace millrace::engines
