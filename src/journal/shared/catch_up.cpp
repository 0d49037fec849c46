#include "journal/shared/catch_up.hpp"

namespace millrace::journal {

void CatchUp::begin(Sequence end, Time asked_at) {
  end_ = end;
  asked_at_ = asked_at;
}

void CatchUp::look(Sequence seen, Time now) {
  if (is_over_) return;
  if (const auto end = pump_.take_end()) {
    end_ = *end;
    is_asking_ = false;
  }
  if (is_asking_ || seen < end_) return;
  is_over_ = now <= asked_at_ + kCaughtUpWithin;
  if (is_over_) return;
  asked_at_ = now;
  is_asking_ = true;
  pump_.ask_end();
}

}  // namespace millrace::journal
