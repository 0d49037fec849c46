#include "engines/nats/nats_reader.hpp"

#include <chrono>
#include <memory>
#include <utility>

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
    const auto url = parse_nats_url("nats://" + server_.address() + "/jobs?replicas=1");
    REQUIRE(url);
    auto opened = NatsConnection::open(*url, {}, mailbox_);
    while (!opened) opened = NatsConnection::open(*url, {}, mailbox_);
    connection_ = std::move(*opened);
    stream_ = std::make_unique<NatsStream>(*connection_, url->stream);
    auto made = stream_->make(*url);
    while (!made) made = stream_->make(*url);
    reader = std::make_unique<NatsReader>(*connection_, *stream_);
  }

  /// Waits for what the server says, which the reader then gets.
  void hear() {
    auto mail = mailbox_.take(std::chrono::steady_clock::now() + 20s, 0);
    REQUIRE_FALSE(mail.letters.empty());
    for (auto& letter : mail.letters) CHECK(reader->receive(letter, now));
    reader->proceed(1, now);
  }

  NatsMailbox::Time now{1h};
  std::unique_ptr<NatsReader> reader;

 private:
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
  for (const auto wait : {100ms, 200ms, 400ms, 800ms, 1600ms, 1600ms}) {
    CHECK(one.reader->due() - one.now == wait);
    one.now += wait;
    one.reader->proceed(1, one.now);
  }
}

TEST_CASE("NATS reader: a server that has answered may be silent for longer") {
  ReaderOfOne one;
  one.reader->seek(0, one.now);
  one.hear();
  CHECK(one.reader->due() - one.now == 1600ms);
  one.now += 1600ms;
  one.reader->proceed(1, one.now);
  CHECK(one.reader->due() - one.now == 100ms);
}

TEST_CASE("NATS reader: the first wait is short again after an append") {
  ReaderOfOne one;
  one.reader->seek(0, one.now);
  one.now += 100ms;
  one.reader->proceed(1, one.now);
  CHECK(one.reader->due() - one.now == 200ms);
  one.reader->stop(one.now);
  one.reader->seek(0, one.now);
  CHECK(one.reader->due() - one.now == 100ms);
}

}  // namespace millrace::engines
