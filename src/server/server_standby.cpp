#include <utility>

#include "server/role/standby.hpp"
#include "server/server.hpp"
#include "server/web/web_service.hpp"

/// What a server does while it does not lead a shared log.
namespace millrace::server {

/// Follows the log until this server leads it. False: it never will.
bool Server::stand_by() {
  log_.routine("standing_by", {{"jobs", job_count()}});
  Standby standby(broker_, *shared_);
  if (web_) web_->follow();
  journal_->on_durable([this] {
    has_log_news_ = true;
    poller_.wake();
  });
  const Time remembered = shared_->latest_time();
  Time next_look{};
  while (role_.name() == Role::Name::kStandby && !must_start_over_) {
    begin_step("standby");
    poller_.take(kStandbyLook);
    const Time now = clock_.now();
    loop_.ticker.work(now, Ticker::Scope::kDeadlines);
    if (is_stopping()) continue;
    // Not each time that a client sends something.
    if (!has_log_news_.exchange(false) && now < next_look) continue;
    next_look = now + kStandbyLook;
    if (!follow(standby)) {
      const auto leader = heard_leader(remembered);
      relay(now, leader);
      report(now, leader);
      continue;
    }
    loop_.turn.listen_to_journal();
    if (const auto led = lead(journal_->epoch()); !led) {
      log_.event("cannot_lead", {{"problem", led.error().text}});
      must_start_over_ = true;
      return false;
    }
    lease_keeper_.emplace(loop_.ticker, *shared_,
                          [this](bool is_lost, Time at) { look_at_lease(is_lost, at); });
    lease_keeper_->begin();
    log_.routine("leading",
                 {{"epoch", static_cast<std::uint64_t>(*role_.epoch())}, {"jobs", job_count()}});
  }
  return role_.name() == Role::Name::kServing;
}

/// The leader, once the log has told a time after `remembered`: what this server remembers from
/// before its start may be long past.
std::optional<SharedJournal::Leader> Server::heard_leader(Time remembered) const {
  return shared_->latest_time() > remembered ? shared_->leader() : std::nullopt;
}

/// True: this server leads.
bool Server::follow(Standby& standby) {
  const auto followed = standby.work(clock_.now());
  const std::string problem = followed ? shared_->problem() : followed.error().text;
  notices_.following(problem, clock_.now());
  if (!followed) return false;
  if (!has_caught_up_ && shared_->has_caught_up()) {
    has_caught_up_ = true;
    log_.routine("caught_up", {{"jobs", job_count()}});
  }
  must_start_over_ = *followed == SharedJournal::Followed::kUseless;
  return *followed == SharedJournal::Followed::kLeads;
}

}  // namespace millrace::server
