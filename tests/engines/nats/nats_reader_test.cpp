#include "engines/nats/nats_reader.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engines/nats/nats_publisher.hpp"
#include "engines/nats/nats_server.hpp"
#include "support/doctest.hpp"

namespace millrace::engines {
namespace {

using namespace std::chrono_literals;

/// A reader of an empty stream. The test tells the time, and takes the mail.
class ReaderOfOne {
 public:
  ReaderOfOne() {
    server_.start();
    const auto url = parse_nats_url("nats://" + server_.address() + "/jobs?replicas=1&synced=yes");
    REQUIRE(url);
    auto opened = NatsConnection::open(*url, {}, mailbox_);
    while (!opened) opened = NatsConnection::open(*url, {}, mailbox_);
    connection_ = std::move(*opened);
    stream_ = std::make_unique<NatsStream>(*connection_, url->stream);
    auto made = stream_->make(*url, {});
    while (!made) made = stream_->make(*url, {});
    reader = std::make_unique<NatsReader>(*connection_, *stream_);
  }

  /// Waits for what the server says, which the reader then gets.
  void hear() {
    auto mail = mailbox_.take(std::chrono::steady_clock::now() + 20s, 0);
    REQUIRE_FALSE(mail.arrivals.empty());
    for (auto& arrival : mail.arrivals) CHECK(reader->receive(arrival, now));
    reader->proceed(1, now);
  }

  /// Asks for the stream's end, and waits for the answer. All else is lost on its way.
  void hear_of_end() {
    now += kEndWait;
    reader->proceed(1, now);
    hear_only(".end");
  }

  /// Waits for the answer to the last request to send.
  void hear_answer() {
    hear_only(".read" + std::to_string(reader->begun()));
    reader->proceed(1, now);
  }

  void remove_stream() {
    REQUIRE(connection_->request("$JS.API.STREAM.DELETE." + stream_->name(), "", 20s));
  }

  /// Time passes, in which the reader hears nothing.
  void pass(NatsReader::Duration time) {
    for (const auto end = now + time; now < end;) {
      now += 100ms;
      reader->proceed(1, now);
    }
  }

  void append(const std::string& bytes) {
    NatsPublisher publisher(*connection_, stream_->name(), stream_->subject());
    REQUIRE(publisher.open(now));
    publisher.append({.first = 1, .last = 1, .bytes = bytes}, now);
    while (publisher.take_answers().empty()) {
      auto mail = mailbox_.take(std::chrono::steady_clock::now() + 20s, 0);
      REQUIRE_FALSE(mail.arrivals.empty());
      for (auto& arrival : mail.arrivals) static_cast<void>(publisher.receive(arrival, now));
    }
  }

  NatsMailbox::Time now{1h};
  std::unique_ptr<NatsReader> reader;

 private:
  void hear_only(std::string_view subject_end) {
    for (bool was_heard = false; !was_heard;) {
      auto mail = mailbox_.take(std::chrono::steady_clock::now() + 20s, 0);
      REQUIRE_FALSE(mail.arrivals.empty());
      for (auto& arrival : mail.arrivals) {
        const std::string_view subject = natsMsg_GetSubject(arrival.message.get());
        if (!subject.ends_with(subject_end)) continue;
        CHECK(reader->receive(arrival, now));
        was_heard = true;
      }
    }
  }

  NatsDirectory directory_;
  NatsServer server_{directory_.path(), {}};
  NatsMailbox mailbox_;
  std::unique_ptr<NatsConnection> connection_;
  std::unique_ptr<NatsStream> stream_;
};

}  // namespace

TEST_CASE("NATS reader: what nobody answers is asked for again soon, and then more seldom") {
  ReaderOfOne one;
  one.reader->seek(0, one.now);
  std::uint64_t begun = 1;
  for (const auto wait : {100ms, 200ms, 400ms, 800ms, 1600ms, 1600ms}) {
    one.pass(wait - 100ms);
    CHECK(one.reader->begun() == begun);
    one.pass(100ms);
    CHECK(one.reader->begun() == ++begun);
  }
}

TEST_CASE("NATS reader: what is refused is asked for again more and more seldom") {
  ReaderOfOne one;
  one.remove_stream();
  one.reader->seek(0, one.now);
  std::uint64_t begun = 1;
  for (const auto wait : {250ms, 250ms, 400ms, 800ms, 1600ms, 1600ms}) {
    one.hear_answer();
    one.now += wait - 1ms;
    one.reader->proceed(1, one.now);
    CHECK(one.reader->begun() == begun);
    one.now += 1ms;
    one.reader->proceed(1, one.now);
    CHECK(one.reader->begun() == ++begun);
  }
}

TEST_CASE("NATS reader: while nobody answers, it asks the stream for one message after another") {
  ReaderOfOne one;
  one.append("one");
  one.reader->seek(0, one.now);
  one.now += 99ms;
  one.reader->proceed(1 << 20, one.now);
  CHECK_FALSE(one.reader->has_result());
  CHECK(one.reader->due() - one.now == 1ms);
  one.now += 1ms;
  one.reader->proceed(1 << 20, one.now);
  REQUIRE(one.reader->has_result());
  const auto chunk = one.reader->take();
  REQUIRE(chunk);
  CHECK(chunk->seen == 1);
  REQUIRE(chunk->entries.size() == 1);
  CHECK(chunk->entries.front().bytes == "one");
  // The server has answered in the meantime, and sends the message too.
  one.hear();
  CHECK_FALSE(one.reader->has_result());
}

TEST_CASE("NATS reader: a server that has answered may be silent for longer") {
  ReaderOfOne one;
  one.reader->seek(0, one.now);
  one.hear();
  one.pass(1500ms);
  CHECK(one.reader->begun() == 1);
  one.pass(100ms);
  CHECK(one.reader->begun() == 2);
}

TEST_CASE("NATS reader: while a server is behind the stream's leader, the leader is asked") {
  ReaderOfOne one;
  one.reader->seek(0, one.now);
  one.hear();
  one.append("one");
  one.hear_of_end();
  CHECK_FALSE(one.reader->has_result());
  CHECK(one.reader->begun() == 1);
  // The first answer may be to a question from before the append.
  for (int i = 0; i < 3 && one.reader->begun() == 1; ++i) one.hear_of_end();
  CHECK(one.reader->begun() == 2);
  REQUIRE(one.reader->has_result());
  const auto chunk = one.reader->take();
  REQUIRE(chunk);
  REQUIRE(chunk->entries.size() == 1);
  CHECK(chunk->entries.front().bytes == "one");
}

TEST_CASE("NATS reader: the first wait is short again after an append") {
  ReaderOfOne one;
  one.reader->seek(0, one.now);
  one.pass(100ms);
  one.reader->stop(one.now);
  one.reader->seek(0, one.now);
  one.pass(100ms);
  CHECK(one.reader->begun() == 4);
}

}  // namespace millrace::engines
