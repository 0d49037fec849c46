#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/types.hpp"

/// Conversations written as text, and how they are played. The format is explained in
/// tests/transcripts/README.md.
namespace millrace::test {

/// An expected line: its very text, or a regular expression that finds something in it.
struct ExpectedLine {
  std::string text;
  bool is_regex = false;
  bool is_in_order = false;  ///< of a body: the next line; else any line of it
};

/// One line of a transcript; a body's lines belong to the line that announces it.
struct Step {
  enum class Kind {
    kSend,
    kExpectLine,
    kExpectBody,
    kExpectNothing,
    kExpectClosed,
    kOpen,
    kClose,
    kHalfClose,
    kAdvance,
    kStepWall,
    kDrain,
  };
  Kind kind = Kind::kSend;
  int line = 0;
  char connection = 'a';
  std::string text;  ///< kSend: the bytes
  ExpectedLine expected;
  char kept_as = 0;  ///< kExpectLine: any line, which is meant by `$` and this letter from here on
  std::vector<ExpectedLine> body;
  Duration duration{};
};

struct Transcript {
  std::map<std::string, std::string> options;
  std::vector<Step> steps;

  /// Whether it holds a step of that kind: a driver without a given clock may have to pass.
  [[nodiscard]] bool has(Step::Kind kind) const;
};

/// Throws std::runtime_error, with the number of the line, for what is no transcript.
Transcript parse_transcript(std::string_view text);
Transcript read_transcript(const std::string& path);

/// What a transcript is played over: a server that is ready, in memory or behind a socket. Each
/// connection is opened once, before anything else is done with it.
class Driver {
 public:
  enum class Patience {
    kUntilSome,  ///< something is expected: wait for it as long as a slow machine may need
    kBriefly,    ///< nothing is expected: wait only as long as the server needs to come to rest
  };

  virtual ~Driver() = default;

  virtual void open(char connection) = 0;
  virtual void send(char connection, std::string_view bytes) = 0;
  virtual void half_close(char connection) = 0;
  virtual void close(char connection) = 0;

  /// Takes what the server has sent. Empty: nothing came, or the server has closed.
  virtual std::string receive(char connection, Patience patience) = 0;

  /// Whether the server has closed; waits for it as `kUntilSome`.
  virtual bool is_closed(char connection) = 0;

  /// Moves the clock, and does whatever comes due on the way.
  virtual void advance(Duration duration) = 0;

  /// Sets the wall clock ahead, or back, of what it showed. The clock moves by a second, at whose
  /// end the server notices.
  virtual void step_wall(Duration by) = 0;

  /// Tells the server to take no new work.
  virtual void drain() = 0;
};

/// The first step at which the server did not do what the transcript says.
struct Mismatch {
  int line = 0;
  std::string expected;
  std::string got;
};

/// Sends in pieces of at most `cut` bytes; 0: adjacent lines are sent together. Whatever is
/// left unexpected at the end is a mismatch too.
std::optional<Mismatch> play(const Transcript& transcript, Driver& driver, std::size_t cut);

/// Bytes as they can be shown on one line.
std::string printable(std::string_view bytes);

}  // namespace millrace::test
