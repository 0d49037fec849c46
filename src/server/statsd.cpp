#include "server/statsd.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <asio/io_context.hpp>
#include <asio/ip/udp.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>

#include "base/check.hpp"
#include "base/text.hpp"
#include "server/net/address.hpp"
#include "server/process/process.hpp"

namespace millrace::server {
namespace {

struct Head {
  Duration took;
  std::uint16_t queue_bytes;
  std::uint16_t jobtype_bytes;
  std::uint32_t unused;
};

constexpr std::size_t kNameBytesMax = UINT16_MAX;

enum class Part { kName, kTag };

/// A tag may have colons: `env:production` is one.
bool is_kept(char c, Part part) {
  constexpr std::string_view kEnds = "|#,@ ";
  if (kEnds.find(c) != std::string_view::npos) return false;
  return part == Part::kTag || c != ':';
}

void append(std::string_view text, Part part, std::size_t max, std::string& out) {
  each_character(cut(text, max), [&](const Character& character) {
    const bool is_shown = is_harmless(character) && is_kept(character.bytes.front(), part);
    out += is_shown ? character.bytes : "_";
    return true;
  });
}

/// Whole numbers without a point, others with three digits after it.
void append_number(double value, std::string& out) {
  std::array<char, 400> digits;
  const bool is_whole = std::floor(value) == value;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                          std::chars_format::fixed, is_whole ? 0 : 3);
  CHECK(error == std::errc{});
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

using SteadyTime = std::chrono::steady_clock::time_point;

void add_counts(const StatsdCounts& now, const StatsdCounts& before, StatsdLines& lines) {
  struct Row {
    const char* name;
    std::uint64_t StatsdCounts::*value;
  };
  constexpr Row kRows[] = {{"jobs.count", &StatsdCounts::processed},
                           {"jobs.failed", &StatsdCounts::failed},
                           {"jobs.expired", &StatsdCounts::expired},
                           {"uniq.lock", &StatsdCounts::locks_taken},
                           {"uniq.denied", &StatsdCounts::locks_denied},
                           {"cron.enqueued", &StatsdCounts::cron_enqueued},
                           {"cron.refused", &StatsdCounts::cron_refused},
                           {"batch.callbacks", &StatsdCounts::batch_callbacks}};
  for (const Row& row : kRows) {
    const std::uint64_t count = now.*(row.value);
    // Some begin anew with a FLUSH.
    const std::uint64_t more = count - (before.*(row.value) <= count ? before.*(row.value) : 0);
    if (more > 0) lines.count(row.name, more);
  }
}

void add_gauges(const StatsdGauges& gauges, StatsdLines& lines) {
  for (const auto& [name, value] : gauges.values) lines.gauge(name, static_cast<double>(value));
  for (const StatsdGauges::OfQueue& queue : gauges.queues) {
    const StatsdLines::Tags tags = {{"queue", queue.name}};
    lines.gauge("queue.size", static_cast<double>(queue.size), tags);
    lines.gauge("queue.latency", queue.latency_s, tags);
    lines.gauge("enqueued." + queue.name, static_cast<double>(queue.size));
  }
  for (const StatsdGauges::OfQueue& queue : gauges.latencies) {
    lines.gauge("latency." + queue.name, queue.latency_s);
  }
}

double seconds_since(Time oldest, Time now) {
  return oldest == kNever ? 0 : std::chrono::duration<double>(now - oldest).count();
}

StatsdGauges::OfQueue figures_of(const Queue& queue, const View& view, Time now) {
  return {.name = queue.name,
          .size = queue.ready.size(),
          .latency_s = seconds_since(view.jobs().oldest_ready(queue), now)};
}

using asio::ip::udp;

/// On this machine, a port where nobody listens says so at once. What is sent to ask it is empty.
bool refuses_at_once(udp::socket& socket) {
  std::error_code problem;
  socket.send(asio::buffer(std::string_view()), 0, problem);
  std::array<char, 1> nothing;
  socket.receive(asio::buffer(nothing), 0, problem);
  return problem == asio::error::connection_refused;
}

}  // namespace

// ---- runs that have ended ---------------------------------------------------------------------

void StatsdRuns::add(Duration took, std::string_view queue, std::string_view jobtype) {
  queue = queue.substr(0, kNameBytesMax);
  jobtype = jobtype.substr(0, kNameBytesMax);
  if (text_.size() + sizeof(Head) + queue.size() + jobtype.size() > kStatsdRunBytesMax) {
    ++left_out_;
    return;
  }
  // Without bytes that nobody has set.
  static_assert(std::has_unique_object_representations_v<Head>);
  const Head head{.took = took,
                  .queue_bytes = static_cast<std::uint16_t>(queue.size()),
                  .jobtype_bytes = static_cast<std::uint16_t>(jobtype.size()),
                  .unused = 0};
  text_.append(reinterpret_cast<const char*>(&head), sizeof head);
  text_.append(queue).append(jobtype);
}

void StatsdRuns::each(const Visitor& visit) const {
  std::string_view rest = text_;
  while (!rest.empty()) {
    Head head;
    std::memcpy(&head, rest.data(), sizeof head);
    rest.remove_prefix(sizeof head);
    visit(head.took, rest.substr(0, head.queue_bytes),
          rest.substr(head.queue_bytes, head.jobtype_bytes));
    rest.remove_prefix(std::size_t{head.queue_bytes} + head.jobtype_bytes);
  }
}

// ---- lines and datagrams ----------------------------------------------------------------------

StatsdLines::StatsdLines(const StatsdOptions& options) : lines_max_(options.buffer_size) {
  append(options.name_space, Part::kName, kStatsdNamespaceBytesMax, prefix_);
  for (const std::string& tag : options.tags) {
    if (tag.empty()) continue;
    if (!tags_.empty()) tags_ += ',';
    append(tag, Part::kTag, kStatsdTagBytesMax, tags_);
  }
}

void StatsdLines::count(std::string_view name, std::uint64_t value, const Tags& tags) {
  add(name, static_cast<double>(value), "c", tags);
}

void StatsdLines::gauge(std::string_view name, double value, const Tags& tags) {
  // A sign would make it a change of the gauge.
  add(name, std::max(value, 0.0), "g", tags);
}

void StatsdLines::milliseconds(std::string_view name, double value, const Tags& tags) {
  add(name, std::max(value, 0.0), "ms", tags);
}

void StatsdLines::add(std::string_view name, double value, std::string_view kind,
                      const Tags& tags) {
  line_ = prefix_;
  append(name, Part::kName, kStatsdPartBytesMax, line_);
  line_ += ':';
  append_number(value, line_);
  line_ += '|';
  line_ += kind;
  std::string_view before = "|#";
  if (!tags_.empty()) {
    line_ += before;
    line_ += tags_;
    before = ",";
  }
  for (const StatsdTag& tag : tags) {
    if (tag.value.empty()) continue;
    line_ += before;
    line_ += tag.key;
    line_ += ':';
    append(tag.value, Part::kTag, kStatsdPartBytesMax, line_);
    before = ",";
  }
  CHECK(line_.size() <= kStatsdDatagramBytesMax);
  const bool has_room = !datagrams_.empty() && lines_ < lines_max_ &&
                        datagrams_.back().size() + 1 + line_.size() <= kStatsdDatagramBytesMax;
  if (has_room) {
    datagrams_.back() += '\n';
    datagrams_.back() += line_;
    ++lines_;
  } else {
    datagrams_.push_back(line_);
    lines_ = 1;
  }
}

std::vector<std::string> StatsdLines::take() {
  return std::exchange(datagrams_, {});
}

// ---- the thread that sends --------------------------------------------------------------------

std::vector<std::string> datagrams_of(const StatsdReport& report, const StatsdCounts& before,
                                      const StatsdOptions& options) {
  StatsdLines lines(options);
  add_counts(report.counts, before, lines);
  report.runs.each([&](Duration took, std::string_view queue, std::string_view jobtype) {
    const double ms = std::chrono::duration<double, std::milli>(took).count();
    lines.milliseconds("jobs.perform", ms, {{"queue", queue}, {"jobtype", jobtype}});
  });
  if (report.gauges) add_gauges(*report.gauges, lines);
  return lines.take();
}

struct StatsdSender::Shared {
  mutable std::mutex mutex;  ///< of all the following
  std::condition_variable has_news;
  std::optional<StatsdReport> report;  ///< to be sent
  bool is_over = false;                ///< nobody hands over any more
  std::string problem;
  std::uint64_t left_out = 0;

  /// Waits. nullopt: there will be none.
  std::optional<StatsdReport> take() {
    std::unique_lock lock(mutex);
    has_news.wait(lock, [this] { return report || is_over; });
    if (is_over) return std::nullopt;
    return std::exchange(report, std::nullopt);
  }

  void tell(std::string text) {
    const std::lock_guard guard(mutex);
    problem = std::move(text);
  }
};

/// The thread.
class StatsdSender::Work {
 public:
  // Shared: see there.
  Work(std::shared_ptr<Shared> shared, StatsdOptions options, const StatsdCounts& base)
      : shared_(std::move(shared)), options_(std::move(options)), sent_(base) {}

  void run() {
    while (const auto report = shared_->take()) send(*report);
  }

 private:
  void send(const StatsdReport& report) {
    open_if_due();
    if (!socket_.is_open()) return;
    std::error_code problem;
    for (const std::string& datagram : datagrams_of(report, sent_, options_)) {
      const std::error_code first = send(datagram);
      // It may be the error of an earlier datagram: then this one was not tried.
      if (!first) continue;
      (void)send(datagram);
      problem = first;
    }
    sent_ = report.counts;
    if (problem) {
      has_failed_ = true;
      tell("cannot send to " + options_.location.text(), problem);
    } else if (std::exchange(has_sent_, true)) {
      // An error of the report before would have come by now.
      shared_->tell({});
    }
  }

  /// Does not wait: where the system has no room, the datagram is lost.
  [[nodiscard]] std::error_code send(std::string_view datagram) {
    std::error_code problem;
    socket_.send(asio::buffer(datagram), 0, problem);
    const bool is_full =
        problem == asio::error::would_block || problem == asio::error::no_buffer_space;
    return is_full ? std::error_code() : problem;
  }

  void tell(const std::string& what, const std::error_code& why) {
    shared_->tell(what + ": " + why.message());
  }

  void open_if_due() {
    const SteadyTime now = std::chrono::steady_clock::now();
    const bool must_open = !socket_.is_open() || has_failed_;
    if (now - tried_at_ < (must_open ? kStatsdRetry : kStatsdNameAge)) return;
    tried_at_ = now;
    open();
  }

  /// May wait for a name server. A problem leaves the socket as it is. `localhost` is often ::1
  /// first, and many daemons listen on 127.0.0.1 only.
  void open() {
    std::error_code problem;
    const Address& to = options_.location;
    const auto found = udp::resolver(context_).resolve(to.host, std::to_string(to.port),
                                                       udp::resolver::numeric_service, problem);
    if (problem) return tell("cannot find " + to.host, problem);
    std::size_t left = found.size();
    for (const auto& each : found) {
      --left;
      udp::socket socket(context_);
      socket.connect(each, problem);
      if (!problem) socket.non_blocking(true, problem);
      if (problem || (left > 0 && refuses_at_once(socket))) continue;
      socket_ = std::move(socket);
      has_failed_ = false;
      has_sent_ = false;
      return;
    }
    tell("cannot send to " + to.text(), problem);
  }

  // Shared: the sender may have gone.
  const std::shared_ptr<Shared> shared_;
  const StatsdOptions options_;
  StatsdCounts sent_;
  asio::io_context context_;
  udp::socket socket_{context_};                         ///< to one host
  bool has_sent_ = false;                                ///< since it was opened
  bool has_failed_ = false;                              ///< likewise
  SteadyTime tried_at_ = SteadyTime{} - kStatsdNameAge;  ///< to find the host
};

StatsdSender::StatsdSender(const StatsdOptions& options, const StatsdCounts& base)
    // Shared with the thread.
    : shared_(std::make_shared<Shared>()) {
  try {
    std::thread([shared = shared_, options, base] {
      pthread_setname_np(pthread_self(), "statsd");
      std::optional<Work> work;
      // What fails for lack of descriptors is tried again with the next report.
      do {
        try {
          if (!work) work.emplace(shared, options, base);
          work->run();
        } catch (const std::exception& exception) {
          shared->tell(exception.what());
        }
      } while (shared->take());
    }).detach();
  } catch (const std::system_error& error) {
    shared_->tell(no_thread(error).text);
  }
}

StatsdSender::~StatsdSender() {
  const std::lock_guard guard(shared_->mutex);
  shared_->is_over = true;
  shared_->has_news.notify_one();
}

void StatsdSender::hand_over(StatsdReport report) {
  // Freed without the lock.
  std::optional<StatsdReport> unsent(std::move(report));
  const std::lock_guard guard(shared_->mutex);
  shared_->left_out += unsent->runs.left_out();
  std::swap(shared_->report, unsent);
  if (unsent) {
    unsent->runs.each([&](Duration, std::string_view, std::string_view) { ++shared_->left_out; });
    if (!shared_->report->gauges) shared_->report->gauges = std::move(unsent->gauges);
  }
  shared_->has_news.notify_one();
}

std::string StatsdSender::problem() const {
  const std::lock_guard guard(shared_->mutex);
  return shared_->problem;
}

std::uint64_t StatsdSender::left_out() const {
  const std::lock_guard guard(shared_->mutex);
  return shared_->left_out;
}

// ---- in the main loop -------------------------------------------------------------------------

void Statsd::set(std::optional<StatsdOptions> options) {
  if (options == options_) return;
  const bool was_serving = is_serving_;
  stop();
  options_ = std::move(options);
  if (was_serving) begin();
}

void Statsd::begin() {
  is_serving_ = true;
  if (!options_) return;
  reported_ = counts();
  sender_ = std::make_unique<StatsdSender>(*options_, reported_);
  parts_.broker.watch_runs(this);
  next_gauges_ = {};
  parts_.ticker.plan(*this, kAtOnce);
}

void Statsd::stop() {
  is_serving_ = false;
  parts_.broker.watch_runs(nullptr);
  parts_.ticker.plan(*this, kNever);
  sender_.reset();
  runs_ = {};
  survey_.reset();
}

void Statsd::expire(Time now) {
  problem_.tell(parts_.log, sender_->problem(), now);
  if (now >= next_gauges_ && !survey_)
    survey_.emplace(Survey{{}, http::BusiestQueues(kStatsdQueuesMax)});
  StatsdReport report{.runs = std::exchange(runs_, {}), .counts = counts()};
  if (survey_ && survey_on(now)) {
    report.gauges = gauges(now);
    survey_.reset();
    next_gauges_ = now + kStatsdGaugesInterval;
  }
  const bool has_changed = report.gauges || !report.runs.is_empty() || report.counts != reported_;
  reported_ = report.counts;
  if (has_changed) sender_->hand_over(std::move(report));
  parts_.ticker.plan(*this, now + kStatsdInterval);
}

void Statsd::on_run_ended(const Job& job, const Queue& queue, Duration took) {
  // Reading the body back would wait for the disk.
  runs_.add(took, queue.name, job.is_spilled() ? std::string() : parts_.format.type_of(job).name);
}

bool Statsd::survey_on(Time now) {
  return survey_->walk.visit_some(
      parts_.broker.view(), [&](const Queue& queue) { survey_->busiest.look_at(queue, now); });
}

StatsdCounts Statsd::counts() const {
  const View& view = parts_.broker.view();
  const Tally& tally = view.tally();
  return {.processed = view.counters().processed,
          .failed = view.counters().failed,
          .expired = tally.jobs_expired,
          .locks_taken = tally.locks_taken,
          .locks_denied = tally.locks_denied,
          .cron_enqueued = tally.cron_enqueued,
          .cron_refused = tally.cron_refused,
          .batch_callbacks = tally.batch_callbacks};
}

StatsdGauges Statsd::gauges(Time now) const {
  const View& view = parts_.broker.view();
  StatsdGauges gauges;
  gauges.values = {{"processed", view.counters().processed},
                   {"failures", view.counters().failed},
                   {"enqueued", view.orders().count(JobState::kReady)},
                   {"working", view.orders().count(JobState::kReserved)},
                   {"scheduled", view.orders().count(JobState::kScheduled)},
                   {"retries", view.orders().count(JobState::kRetrying)},
                   {"dead", view.orders().count(JobState::kDead)},
                   {"connections", parts_.connections()},
                   {"workers", view.workers().size()},
                   {"uniq.locks", view.jobs().lock_count()},
                   {"batch.open", view.batches().size() - view.batches().finished_count()}};
  const auto add = [&](const Queue& queue) {
    gauges.queues.push_back(figures_of(queue, view, now));
  };
  // A queue that was removed meanwhile is left out.
  for (const std::uint64_t place : survey_->busiest.places()) {
    view.queues().page(place, place + 1, 1, add);
  }
  for (const std::string& name : options_->latency_queues) {
    const Queue* const queue = view.queues().find(name);
    gauges.latencies.push_back(queue != nullptr ? figures_of(*queue, view, now)
                                                : StatsdGauges::OfQueue{.name = name});
  }
  return gauges;
}

}  // namespace millrace::server
