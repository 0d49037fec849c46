#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "cli/interrupts.hpp"
#include "cli/members.hpp"
#include "cli/show/screen.hpp"
#include "cli/top/top_data.hpp"
#include "cli/top/top_view.hpp"
#include "cli/verbs/verbs.hpp"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;
using Key = Screen::Key;

constexpr std::chrono::milliseconds kTopLook = 1s;
/// Keys and signals are looked at so often.
constexpr std::chrono::milliseconds kTopKeyWait = 100ms;
/// An answer that takes longer is told to be late.
constexpr std::chrono::milliseconds kTopPatience = 3s;
constexpr std::size_t kFilterBytesMax = 100;
constexpr std::ptrdiff_t kPageQueues = 10;
/// More presses of `p` are not remembered while the server does not answer.
constexpr std::size_t kTurnsMax = 20;

class Top {
 public:
  Top(Session& session, Screen& screen) : session_(session), screen_(screen), reader_(session) {}

  Exit run() {
    look();
    draw();
    std::chrono::milliseconds waited{0};
    while (!is_over_) {
      const Screen::Input input = screen_.read(kTopKeyWait);
      if (interrupts_.wait(0ms)) break;
      if (input.key == Key::kNone) {
        waited += kTopKeyWait;
        asked_for_ += kTopKeyWait;
      }
      if (input.key != Key::kNone) take(input);
      const bool has_answer = take_answer();
      // Later it may come back.
      if (!has_data_ && failed_ != Exit::kDone) break;
      if (!is_asking() && !turns_.empty()) turn_queue();
      if (!is_asking() && (waited >= kTopLook || wants_look_)) {
        waited = 0ms;
        look();
      }
      if (has_answer || is_late() || input.key != Key::kNone) draw();
    }
    return failed_;
  }

  [[nodiscard]] const std::string& problem() const { return choice_.message; }

  /// The server has not answered yet: another thread waits for it.
  [[nodiscard]] bool is_asking() const { return answer_.valid(); }

 private:
  /// What is to be done with the answer, in the thread of the screen.
  using Answered = std::function<void()>;

  /// Keys are obeyed while the server is asked: one thing at a time, in a thread of its own.
  void ask(std::function<Answered()> question) {
    asked_for_ = 0ms;
    answer_ = std::async(std::launch::async, std::move(question));
  }

  /// False: there is none yet.
  bool take_answer() {
    if (!is_asking() || answer_.wait_for(0s) != std::future_status::ready) return false;
    answer_.get()();
    return true;
  }

  [[nodiscard]] bool is_late() const { return is_asking() && asked_for_ >= kTopPatience; }

  void look() {
    wants_look_ = false;
    ask([this]() -> Answered { return [this, read = reader_.read()] { show(read); }; });
  }

  void show(const Reply<TopData>& read) {
    if (!read) {
      choice_.message = harmless(read.error().text);
      failed_ = read.error().exit;
      return;
    }
    if (failed_ != Exit::kDone) choice_.message.clear();
    failed_ = Exit::kDone;
    data_ = *read;
    has_data_ = true;
  }

  void draw() {
    TopChoice shown = choice_;
    const std::string late = "no answer for " + std::to_string(asked_for_ / 1s) + " s";
    if (is_late() && pause_asked_.empty()) shown.message = late + ": the figures are old";
    if (!has_data_) {
      const std::string& url = session_.api.shown_url();
      return screen_.draw({{"Millrace at " + url + " is asked"}, {is_late() ? late : ""}});
    }
    screen_.draw(top_lines(data_, shown, {.rows = screen_.rows(), .columns = screen_.columns()},
                           session_.api.shown_url()));
  }

  void take(const Screen::Input& input) {
    if (failed_ == Exit::kDone) choice_.message.clear();
    if (!pause_asked_.empty()) return answer_question(input);
    if (choice_.is_typing) {
      type(input);
    } else if (input.key == Key::kText) {
      obey(input.text);
    } else {
      move(input.key);
    }
  }

  void type(const Screen::Input& input) {
    std::string& filter = choice_.filter;
    if (input.key == Key::kText && filter.size() < kFilterBytesMax) filter += input.text;
    // A character may be several bytes.
    if (input.key == Key::kErase) {
      while (!filter.empty() && (static_cast<unsigned char>(filter.back()) & 0xC0) == 0x80) {
        filter.pop_back();
      }
      if (!filter.empty()) filter.pop_back();
    }
    if (input.key == Key::kEscape) filter.clear();
    if (input.key == Key::kEscape || input.key == Key::kEnter) choice_.is_typing = false;
  }

  void obey(const std::string& key) {
    if (key == "q") is_over_ = true;
    if (key == "s") choice_.order = (choice_.order + 1) % std::size(kTopOrders);
    if (key == "/") choice_.is_typing = true;
    if (key == "p") mark_turn();
    if (key == "j") move(Key::kDown);
    if (key == "k") move(Key::kUp);
  }

  void move(Key key) {
    const std::vector<std::string> names = shown_queues(data_, choice_);
    if (key == Key::kEscape) choice_.filter.clear();
    if (names.empty()) return;
    std::ptrdiff_t at = std::ranges::find(names, choice_.queue) - names.begin();
    const auto size = static_cast<std::ptrdiff_t>(names.size());
    if (at == size) at = 0;
    if (key == Key::kUp) --at;
    if (key == Key::kDown) ++at;
    if (key == Key::kPageUp) at -= kPageQueues;
    if (key == Key::kPageDown) at += kPageQueues;
    choice_.queue = names[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at, 0, size - 1))];
  }

  /// The queue that is marked now is to be resumed, when the server can be asked; or a question is
  /// to be answered before it is paused, since that stops work.
  void mark_turn() {
    const std::vector<std::string> names = shown_queues(data_, choice_);
    if (names.empty() || turns_.size() == kTurnsMax) return;
    const bool is_there = std::ranges::find(names, choice_.queue) != names.end();
    // From now on it stays marked, wherever the order puts it.
    if (!is_there) choice_.queue = names.front();
    const Json* const queue = find_queue(choice_.queue);
    if (queue == nullptr) return;
    if (is_at(*queue, "is_paused")) return turns_.push_back({choice_.queue, false});
    pause_asked_ = choice_.queue;
    choice_.message = "pause " + harmless(pause_asked_) + "? y pauses it, any other key does not";
  }

  void answer_question(const Screen::Input& input) {
    const std::string name = std::exchange(pause_asked_, "");
    if (input.key == Key::kText && input.text == "y") turns_.push_back({name, true});
  }

  void turn_queue() {
    const auto [name, pauses] = turns_.front();
    turns_.pop_front();
    ask([this, name = name, pauses = pauses]() -> Answered {
      const auto turned =
          session_.api.post("queues/" + path_part(name) + (pauses ? "/pause" : "/resume"), "{}");
      const std::string text =
          turned ? name + (pauses ? " is paused" : " is resumed") : turned.error().text;
      return [this, name, text, is_paused = turned ? pauses : !pauses] {
        choice_.message = harmless(text);
        // The next press may come before the next look.
        if (Json* const now = find_queue(name)) (*now)["is_paused"] = is_paused;
        wants_look_ = true;
      };
    });
  }

  /// Null: it is gone.
  Json* find_queue(const std::string& name) {
    for (Json& queue : data_.queues) {
      if (text_at(queue, "name") == name) return &queue;
    }
    return nullptr;
  }

  Session& session_;
  Screen& screen_;
  TopReader reader_;
  Interrupts interrupts_;
  std::future<Answered> answer_;            ///< valid while the server is asked
  std::chrono::milliseconds asked_for_{0};  ///< about: keys take no time
  TopData data_;
  TopChoice choice_;
  bool has_data_ = false;
  bool is_over_ = false;
  bool wants_look_ = false;
  /// A queue that is to be paused or resumed.
  struct Turn {
    std::string queue;
    bool pauses;
  };
  std::deque<Turn> turns_;     ///< one after the other
  std::string pause_asked_;    ///< the queue of the question on the screen; empty: there is none
  Exit failed_ = Exit::kDone;  ///< how the last look failed
};

}  // namespace

Exit show_top(Session& session) {
  std::string problem;
  Exit exit = Exit::kDone;
  {
    auto screen = Screen::open(session.choice.has_colors);
    if (!screen) return session.refuse_usage("top: " + screen.error().text);
    Top top(session, **screen);
    exit = top.run();
    if (exit != Exit::kDone) problem = top.problem();
    if (top.is_asking()) {
      // Not to wait for the other thread. The terminal is as before, and nothing else is open.
      screen->reset();
      if (exit != Exit::kDone) exit = session.fail({.exit = exit, .text = problem});
      std::_Exit(static_cast<int>(exit));
    }
  }
  // The screen is as before, so that this stays.
  return exit == Exit::kDone ? exit : session.fail({.exit = exit, .text = problem});
}

}  // namespace millrace::cli
