#pragma once

#include "core/ports/shared_journal.hpp"
#include "server/process/clock.hpp"
#include "server/turn/ticker.hpp"

namespace millrace::server {

/// Beats while a server leads a shared log, so that the others hear of it.
class LeaseKeeper final : private Deadline {
 public:
  /// Both must outlive it.
  LeaseKeeper(Ticker& ticker, SharedJournal& journal) : ticker_(ticker), journal_(journal) {}
  ~LeaseKeeper() override { ticker_.plan(*this, kNever); }
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  /// This server leads from now on.
  void begin() { ticker_.plan(*this, journal_.next_beat()); }

 private:
  void expire(Time /*now*/) override {
    journal_.beat();
    ticker_.plan(*this, journal_.next_beat());
  }

  Ticker& ticker_;
  SharedJournal& journal_;
};

}  // namespace millrace::server
