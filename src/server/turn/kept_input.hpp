#pragma once

#include <cstddef>
#include <list>
#include <optional>

#include "core/model/types.hpp"
#include "server/process/clock.hpp"
#include "server/process/logging.hpp"
#include "server/turn/ticker.hpp"
#include "server/turn/turn.hpp"

namespace millrace::server {

/// While all clients together have this much input that was not executed yet, most of them are not
/// read. Eight of the longest lines.
inline constexpr std::size_t kKeptInputBytesMax = std::size_t{256} << 20;

/// How long one client may then keep all others from being read. A line of 32 MiB comes in that
/// time at ten megabits a second.
inline constexpr Duration kKeptInputTime = 30s;

/// A client whose input is kept until it can be executed.
class InputKeeper {
 public:
  virtual ~InputKeeper() = default;

  /// It would take input if it might.
  [[nodiscard]] virtual bool wants_input() const = 0;

  /// It was not admitted, and may ask again. It does so later.
  virtual void ask_again() = 0;

  /// Ends its connection.
  virtual void drop() = 0;

 private:
  friend class KeptInput;
  std::size_t bytes_ = 0;
  bool is_at_work_ = false;
  std::optional<std::list<InputKeeper*>::iterator> place_;
  bool is_waiting_ = false;
};

/// The input of all clients that was not executed yet. When it reaches the limit, only these are
/// read: clients that keep no more than `kPipelinedBytesMax`, so that short commands go on, and one
/// other, so that its line can come to its end. It is the one that has executed nothing for the
/// longest, and it is dropped if that does not change in `kKeptInputTime`. None is chosen while a
/// long line is executed, or is left behind by a client that is gone, since lines arrive faster
/// than they are parsed.
class KeptInput final : private Deadline {
 public:
  struct Parts {
    Turn& turn;
    Ticker& ticker;
    Clock& clock;
    const Log& log;
    std::size_t bytes_max;
  };

  explicit KeptInput(Parts parts) : parts_(parts) {}
  ~KeptInput() override;

  /// `keeper` keeps so much now, and will keep less without more input if it is at work. To be
  /// called whenever that may have changed, and with 0 before it is destroyed.
  void count(InputKeeper& keeper, std::size_t bytes, bool is_at_work = false) {
    if (bytes != keeper.bytes_ || is_at_work != keeper.is_at_work_) {
      change(keeper, bytes, is_at_work);
    }
  }

  /// Clients that are gone have left so much that still takes memory.
  void count_left_behind(std::size_t bytes) {
    if (bytes != left_behind_bytes_) change_left_behind(bytes);
  }

  /// Whether `keeper` may take input. If not, it is told when it may.
  [[nodiscard]] bool admits(InputKeeper& keeper) {
    return bytes() < parts_.bytes_max || admits_over_limit(keeper);
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_ + left_behind_bytes_; }

 private:
  void change(InputKeeper& keeper, std::size_t bytes, bool is_at_work);
  void change_left_behind(std::size_t bytes);
  [[nodiscard]] bool admits_over_limit(InputKeeper& keeper);
  void requeue(InputKeeper& keeper, bool has_executed);
  void admit_all();
  void choose();
  void clear_chosen();
  void stop_waiting(InputKeeper& keeper);
  void expire(Time now) override;

  const Parts parts_;
  std::size_t bytes_ = 0;  ///< of all keepers
  std::size_t left_behind_bytes_ = 0;
  /// Those that keep more than `kPipelinedBytesMax`. In front the one that has executed nothing for
  /// the longest.
  std::list<InputKeeper*> keepers_;
  std::size_t waiting_count_ = 0;  ///< of them, those that were not admitted
  InputKeeper* chosen_ = nullptr;  ///< the one that is read; null below the limit
};

}  // namespace millrace::server
