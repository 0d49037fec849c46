#include <optional>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "beanstalk/reply.hpp"
#include "beanstalk/session.hpp"

/// What a session does for each command.
namespace millrace::beanstalk {

using std::chrono::seconds;

void BeanstalkSession::execute(const Put& put, Time now) {
  execute(put, nullptr, now);
}

/// `body`: that of a long put, or null.
void BeanstalkSession::execute(const Put& put, LongBody* body, Time now) {
  mark_producer();
  if (shared_.is_draining) {
    output_ += reply::kDraining;
    return;
  }
  auto id = shared_.broker.put({.kind = JobKind::kBytes,
                                .queue = used_tube().name,
                                .body = put.body,
                                .pri = put.pri,
                                .ttr_s = put.ttr_s,
                                .delay_s = put.delay_s,
                                .due = now + seconds{put.delay_s},
                                .long_body = body},
                               now);
  if (!id) {
    output_ += reply::kOutOfMemory;
    return;
  }
  reply::inserted(output_, *id);
}

void BeanstalkSession::execute(const Peek& peek, Time) {
  answer_found(shared_.broker.view().jobs().find(peek.id));
}

void BeanstalkSession::execute(const PeekReady&, Time) {
  answer_found(shared_.broker.view().jobs().first_ready(used_tube()));
}

void BeanstalkSession::execute(const PeekDelayed&, Time) {
  answer_found(shared_.broker.view().jobs().first_delayed(used_tube()));
}

void BeanstalkSession::execute(const PeekBuried&, Time) {
  answer_found(shared_.broker.view().jobs().first_dead(used_tube()));
}

void BeanstalkSession::execute(const Reserve&, Time now) {
  reserve_until(kNever, now);
}

void BeanstalkSession::execute(const ReserveWithTimeout& reserve, Time now) {
  reserve_until(now + seconds{reserve.timeout_s}, now);
}

void BeanstalkSession::execute(const ReserveJob& reserve, Time now) {
  auto job = shared_.broker.connections().reserve_job(client_, reserve.id, now);
  // Before `mark_worker`: a client that reserved nothing is no worker yet.
  if (!job) return answer_refused(job.error());
  mark_worker();
  answer_reserved(**job);
}

void BeanstalkSession::execute(const Delete& command, Time now) {
  answer(shared_.broker.connections().remove(client_, command.id, now), reply::kDeleted);
}

void BeanstalkSession::execute(const Release& release, Time now) {
  answer(
      shared_.broker.connections().release(client_, release.id, release.pri, release.delay_s, now),
      reply::kReleased);
}

void BeanstalkSession::execute(const Bury& bury, Time now) {
  answer(shared_.broker.connections().bury(client_, bury.id, bury.pri, now), reply::kBuried);
}

void BeanstalkSession::execute(const Touch& touch, Time now) {
  answer(shared_.broker.connections().touch(client_, touch.id, now), reply::kTouched);
}

void BeanstalkSession::execute(const Kick& kick, Time now) {
  auto count = shared_.broker.connections().kick(client_, kick.bound, now);
  if (count) {
    reply::kicked(output_, *count);
  } else {
    // KICKED comes with the end of the task, and nothing is executed before it.
    wait_ = Wait::kLongTask;
  }
}

void BeanstalkSession::execute(const KickJob& kick, Time now) {
  answer(shared_.broker.connections().kick_job(kick.id, now), reply::kKicked);
}

void BeanstalkSession::execute(const Use& use, Time) {
  // The parser has checked the name, so it cannot be refused.
  shared_.broker.connections().use(client_, use.tube).value();
  reply::using_tube(output_, use.tube);
}

void BeanstalkSession::execute(const Watch& watch, Time) {
  const auto count = shared_.broker.connections().watch(client_, watch.tube);
  if (count) {
    reply::watching(output_, *count);
  } else {
    output_ += reply::kOutOfMemory;
  }
}

void BeanstalkSession::execute(const Ignore& ignore, Time) {
  // The only refusal is about the last tube. One that is not watched is ignored without a word.
  auto count = shared_.broker.connections().ignore(client_, ignore.tube);
  if (count) {
    reply::watching(output_, *count);
  } else {
    output_ += reply::kNotIgnored;
  }
}

void BeanstalkSession::execute(const PauseTube& pause, Time now) {
  answer(shared_.broker.admin().pause(pause.tube, pause.seconds, now), reply::kPaused);
}

void BeanstalkSession::execute(const Stats&, Time now) {
  reply::stats(output_, shared_, shared_.broker.view(), now);
}

void BeanstalkSession::execute(const StatsJob& stats, Time now) {
  const View& view = shared_.broker.view();
  const Job* job = view.jobs().find(stats.id);
  if (job) {
    reply::stats_job(output_, shown(*job), now);
  } else {
    output_ += reply::kNotFound;
  }
}

void BeanstalkSession::execute(const StatsTube& stats, Time now) {
  const Queue* tube = shared_.broker.view().queues().find(stats.tube);
  if (tube) {
    reply::stats_tube(output_, *tube, now);
  } else {
    output_ += reply::kNotFound;
  }
}

void BeanstalkSession::execute(const ListTubes&, Time) {
  listing_ = std::make_unique<Listing>();
  // Tubes that come later are not listed, so that no client can prolong the list for ever.
  listing_->end = shared_.broker.view().queues().next_creation();
  list_slice();
}

void BeanstalkSession::list_slice() {
  CHECK(listing_ != nullptr);
  Listing& listing = *listing_;
  // To match a name with patterns takes some time.
  const std::size_t tubes_max = caller_.is_limited() ? kSliceQueues / 50 : kSliceQueues;
  listing.next = shared_.broker.view().queues().page(listing.next, listing.end, tubes_max,
                                                     [&](const Queue& tube) {
                                                       if (may_see(tube.name))
                                                         listing.yaml.item(tube.name);
                                                     });
  if (listing.next < listing.end) return;
  // Only whole lists are sent: the reply begins with its length.
  listing.yaml.append_to(output_);
  listing_.reset();
}

void BeanstalkSession::execute(const ListTubeUsed&, Time) {
  reply::using_tube(output_, used_tube().name);
}

void BeanstalkSession::execute(const ListTubesWatched&, Time) {
  std::vector<std::string_view> names;
  const View& view = shared_.broker.view();
  for (const QueueId id : view.client(client_).watched) names.push_back(view.queues().at(id).name);
  reply::tube_list(output_, names);
}

void BeanstalkSession::execute(const Quit&, Time) {
  // The connection closes once the replies before it are sent: there is no reply to quit.
  is_closing_ = true;
}

/// A client that has closed its sending side gets its answer at once: it may be waiting for the end
/// of the connection.
void BeanstalkSession::reserve_until(Time wait_until, Time now) {
  mark_worker();
  ReserveRequest request;
  request.wait_until = has_input_ended_ ? now : wait_until;
  auto delivery = shared_.broker.reserve(client_, request, now);
  // Before `deliver`, which a delivery of a later turn calls in the same state.
  wait_ = Wait::kJob;
  if (delivery) deliver(*delivery, now);
}

reply::ShownJob BeanstalkSession::shown(const Job& job) const {
  const View& view = shared_.broker.view();
  return {.job = job,
          .tube = view.queues().at(job.queue).name,
          .format = shared_.format,
          .clock = view.wall_clock()};
}

void BeanstalkSession::answer_found(const Job* job) {
  if (!job) {
    output_ += reply::kNotFound;
    return;
  }
  // The log does not give it.
  if (!job->has_body()) {
    output_ += reply::kInternalError;
    return;
  }
  answer_job(*job, kWholeLog, reply::found, reply::long_found);
}

void BeanstalkSession::answer_reserved(const Job& job) {
  const Lsn needs = shared_.broker.ledger().needed_for(job);
  answer_job(job, needs, reply::reserved, reply::long_reserved);
}

/// It tells of nothing that could be lost.
void BeanstalkSession::answer_without_job(std::string_view reply) {
  const std::size_t begin = output_.size();
  output_ += reply;
  need_only(0, begin);
}

/// A long job is sent in slices between other clients' commands.
template <typename Render, typename RenderLong>
void BeanstalkSession::answer_job(const Job& job, Lsn needs, Render render,
                                  RenderLong render_long) {
  std::optional<LongText> text;
  if (job.body_bytes > WorkUnitFormat::kLongBodyBytes) {
    text = render_long(shown(job), shared_.broker.view().jobs().pin_body(job));
  }
  if (text) {
    begin_long_reply(std::move(*text), needs);
  } else {
    const std::size_t begin = output_.size();
    render(output_, shown(job));
    need_only(needs, begin);
  }
}

void BeanstalkSession::answer(const Answer<Done>& answer, std::string_view success) {
  if (!answer) return answer_refused(answer.error());
  output_ += success;
}

/// beanstalkd has two words for all refusals here: out of memory covers a full disk, and everything
/// else is not found.
void BeanstalkSession::answer_refused(Refusal refusal) {
  output_ += refusal == Refusal::kNoRoom ? reply::kOutOfMemory : reply::kNotFound;
}

void BeanstalkSession::mark_producer() {
  // A connection counts once, with its first put, as in beanstalkd.
  if (!is_producer_) ++shared_.counters.producers;
  is_producer_ = true;
}

void BeanstalkSession::mark_worker() {
  if (!is_worker_) ++shared_.counters.workers;
  is_worker_ = true;
}

const Queue& BeanstalkSession::used_tube() const {
  const View& view = shared_.broker.view();
  const std::optional<QueueId> used = view.client(client_).used;
  CHECK(used);  // `start` used the default one, and every use names another.
  return view.queues().at(*used);
}

}  // namespace millrace::beanstalk
