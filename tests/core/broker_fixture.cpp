#include "core/broker_fixture.hpp"

#include <algorithm>
#include <charconv>

namespace millrace::test {
namespace {

constexpr std::string_view kNamed = "jid=";

/// Empty: it has none.
std::string_view jid_in(std::string_view body) {
  if (!body.starts_with(kNamed)) return {};
  body.remove_prefix(kNamed.size());
  return body.substr(0, body.find(','));
}

}  // namespace

WorkUnitFormat::Identity PlainFormat::identify(const Job& job) const {
  Identity identity{.jid = "j" + std::to_string(job.id)};
  const std::string_view body = job.body_view();
  if (const std::string_view jid = jid_in(body); !jid.empty()) identity.jid = jid;
  if (body.starts_with("retry=")) {
    std::from_chars(body.data() + 6, body.data() + body.size(), identity.retry);
  }
  return identity;
}

std::uint32_t PlainFormat::name_hash(std::string_view body) const {
  const std::string_view jid = jid_in(body);
  return jid.empty() ? 0 : hash_of_name(jid);
}

std::uint32_t PlainFormat::name_hash_of_put(JobId id, std::string_view body) const {
  const std::string_view jid = jid_in(body);
  return hash_of_name(jid.empty() ? "j" + std::to_string(id) : std::string(jid));
}

// The same for all names of one length, so that tests see that names are compared.
std::uint32_t PlainFormat::hash_of_name(std::string_view jid) const {
  return static_cast<std::uint32_t>(jid.size()) + 1;
}

std::string_view PlainFormat::name_part(const Job& job) const {
  return jid_in(job.body_view());
}

std::string_view PlainFormat::type_part(const Job& job) const {
  const std::string_view body = job.body_view();
  const std::size_t begin = body.find("type=");
  return begin == std::string_view::npos ? "" : body.substr(begin);
}

WorkUnitFormat::Type PlainFormat::read_type(std::string_view part) const {
  const std::size_t end = part.find(',');
  if (end == std::string_view::npos) return {};
  const std::string_view type = part.substr(5, end - 5);
  const std::size_t slash = std::min(type.find('/'), type.size());
  return {.name = std::string(type.substr(0, slash)),
          .wrapper = std::string(type.substr(std::min(slash + 1, type.size()))),
          .bytes = end + 1};
}

bool PlainFormat::is_same(const Job& job, std::string_view body) const {
  return job.body_view() == body;
}

std::optional<KeyedHash> PlainFormat::push_key(std::string_view body, const PushTarget& target,
                                               const LockSecret& secret) const {
  if (jid_in(body).empty()) return std::nullopt;
  const std::string text = std::string(target.queue) + " " + std::string(body);
  return KeyedHash{.high = TextHash{}(text) + secret.low, .low = target.batch};
}

void PlainFormat::render(const Job& job, std::string_view, WallClock, std::string& out) const {
  out.append(job.body_view());
}

void FakeSession::deliver(const Delivery& delivery, Time) {
  got_.push_back({delivery.kind, delivery.job ? delivery.job->id : 0, delivery.count});
}

std::optional<FakeSession::Got> FakeSession::take() {
  if (got_.empty()) return std::nullopt;
  const Got got = got_.back();
  got_.clear();
  return got;
}

BrokerFixture::BrokerFixture(const Broker::Options& options) : broker(ledger, format, options) {}

ClientId BrokerFixture::client() {
  const ClientId id = broker.connect(sessions.emplace_back());
  CHECK(broker.connections().use(id, kDefaultQueue));
  CHECK(broker.connections().watch(id, kDefaultQueue));
  return id;
}

JobId BrokerFixture::put(std::string_view body, NewJob job) {
  job.body = body;
  return broker.put(job, now).value();
}

JobId BrokerFixture::push(std::string_view body, std::string_view queue) {
  return put(body, {.kind = JobKind::kWorkUnit, .queue = queue, .ttr_s = 1800});
}

JobId BrokerFixture::schedule(std::string_view body, Duration in, std::string_view queue) {
  return put(body, {.kind = JobKind::kWorkUnit, .queue = queue, .ttr_s = 1800, .due = now + in});
}

JobId BrokerFixture::push_dead(std::string_view body, std::string_view queue) {
  const JobId id = push(body, queue);
  const ClientId killer = client();
  CHECK(broker.connections().reserve_job(killer, id, now));
  CHECK(broker.connections().bury(killer, id, 0, now));
  leave(killer);
  return id;
}

std::optional<JobId> BrokerFixture::reserve(ClientId client) {
  const auto delivery = broker.reserve(client, {.wait_until = now}, now);
  if (!delivery || delivery->kind != Delivery::Kind::kJob) return std::nullopt;
  return delivery->job->id;
}

std::optional<JobId> BrokerFixture::fetch(ClientId client, std::string_view wid,
                                          std::vector<std::string_view> queues) {
  const ReserveRequest request{.choice = ReserveRequest::Choice::kFirstListed,
                               .queues = std::move(queues),
                               .wid = std::string(wid),
                               .wait_until = now};
  const auto delivery = broker.reserve(client, request, now);
  if (!delivery || delivery->kind != Delivery::Kind::kJob) return std::nullopt;
  return delivery->job->id;
}

bool BrokerFixture::wait(ClientId client, Duration at_most) {
  return !broker.reserve(client, {.wait_until = now + at_most}, now);
}

bool BrokerFixture::wait_for(ClientId client, std::vector<std::string_view> queues,
                             std::string_view wid, Duration at_most) {
  return !broker.reserve(client,
                         {.choice = ReserveRequest::Choice::kFirstListed,
                          .queues = std::move(queues),
                          .wid = std::string(wid),
                          .wait_until = now + at_most},
                         now);
}

void BrokerFixture::settle() {
  while (broker.tick(now) <= now) {
  }
}

void BrokerFixture::advance(Duration by) {
  const Time end = now + by;
  settle();
  for (Time next = broker.tick(now); next <= end; next = broker.tick(now)) {
    now = std::max(now, next);
    settle();
  }
  now = end;
}

const Job& BrokerFixture::job(JobId id) const {
  const Job* job = broker.view().jobs().find(id);
  CHECK(job != nullptr);
  return *job;
}

namespace {

std::string record_clock(Time time) {
  return std::to_string(time.time_since_epoch().count());
}

void tell_failure(const Failure& failure, std::string& out) {
  out += " failure=" + std::to_string(failure.retry_count) + "/" +
         std::to_string(failure.remaining) + "/" + record_clock(failure.failed_at) + "/" +
         record_clock(failure.next_at) + "/" + failure.errtype + "/" + failure.message;
  for (const std::string& line : failure.backtrace) out += "/" + line;
}

void tell_attempts(const Attempts& attempts, std::string& out) {
  for (const Attempt& attempt : attempts.list) {
    out += " attempt=" + std::to_string(attempt.number) + "/" + record_clock(attempt.began) + "/" +
           record_clock(attempt.ended) + "/" + std::to_string(static_cast<int>(attempt.end)) + "/" +
           std::to_string(attempt.has_failure) + "/" + attempt.wid + "/" + attempt.hostname + "/" +
           std::to_string(attempt.pid) + "/" + std::to_string(attempt.connection) + "/" +
           attempt.errtype + "/" + attempt.message;
    for (const std::string& line : attempt.backtrace) out += "/" + line;
  }
}

void tell_job(const View& view, const Job& job, std::string& out) {
  const Reservation* held = job.reservation();
  const bool is_held_by_client = held != nullptr && !held->is_held_by_worker();
  out += "job " + std::to_string(job.id) + " " + view.queues().at(job.queue).name;
  // Held by a connection: a restart restores its last written state, which the caller knows.
  if (is_held_by_client) {
    out += " held\n";
    return;
  }
  const Tallies t = job.tallies();
  out += " state=" + std::to_string(static_cast<int>(job.state)) +
         " pri=" + std::to_string(job.pri) + " seq=" + std::to_string(job.sequence) +
         " when=" + record_clock(job.when) + " enqueued=" + record_clock(job.enqueued_at) +
         " created=" + record_clock(job.created_at) + " ttr=" + std::to_string(job.ttr_s) +
         " delay=" + std::to_string(job.delay_s) + " tallies=" + std::to_string(t.reserves) + "/" +
         std::to_string(t.timeouts) + "/" + std::to_string(t.releases) + "/" +
         std::to_string(t.buries) + "/" + std::to_string(t.kicks);
  if (job.failure() != nullptr) tell_failure(*job.failure(), out);
  if (const Attempts* const attempts = view.jobs().attempts_of(job)) tell_attempts(*attempts, out);
  if (held != nullptr) {
    out += " held=" + held->wid + "/" + held->jid + "/" + record_clock(held->reserved_at);
  }
  out += " body=" + std::string(job.body_view()) + "\n";
}

}  // namespace

std::string tell(const View& view) {
  std::string out;
  for (JobId id = 1; id < view.counters().next_id; ++id) {
    if (const Job* job = view.jobs().find(id)) tell_job(view, *job, out);
  }
  std::vector<std::string> queues;
  for (const auto& [created, id] : view.queues().by_creation()) {
    const Queue& queue = view.queues().at(id);
    if (!queue.is_kept) continue;
    queues.push_back("queue " + queue.name + " paused_until=" + record_clock(queue.paused_until) +
                     "\n");
  }
  std::sort(queues.begin(), queues.end());
  for (const std::string& queue : queues) out += queue;
  const CountersChanged& c = view.counters();
  out += "counters " + std::to_string(c.processed) + "/" + std::to_string(c.failed) + "/" +
         std::to_string(c.day) + "/" + std::to_string(c.processed_today) + "/" +
         std::to_string(c.failed_today) + "\n";
  for (const DayCounts& day : view.history()) {
    out += "day " + std::to_string(day.day) + " " + std::to_string(day.processed) + "/" +
           std::to_string(day.failed) + "\n";
  }
  return out;
}

}  // namespace millrace::test
