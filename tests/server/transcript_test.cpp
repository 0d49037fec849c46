#include <map>

#include "server/running_server.hpp"
#include "support/doctest.hpp"
#include "support/run_transcripts.hpp"

namespace millrace::server {
namespace {

using test::Transcript;

/// Plays a transcript over real sockets.
class SocketDriver final : public test::Driver {
 public:
  SocketDriver(const Transcript& transcript, std::string protocol)
      : running_({.options = options_of(transcript),
                  .is_clock_set = transcript.has(test::Step::Kind::kStepWall)}),
        protocol_(std::move(protocol)) {}

  ~SocketDriver() override {
    // With nobody connected any more the server stops at once.
    clients_.clear();
    running_.settle();
  }

  void open(char connection) override {
    running_.settle();
    clients_.emplace(connection, running_.connect(protocol_));
  }
  void send(char connection, std::string_view bytes) override {
    // The server is to see what different clients do in the order of the transcript.
    if (connection != last_sender_) running_.settle();
    last_sender_ = connection;
    client(connection).send_what_fits(bytes, SocketClient::kPatience);
  }
  void half_close(char connection) override {
    running_.settle();
    client(connection).half_close();
  }
  void close(char connection) override {
    running_.settle();
    client(connection).reset();
  }
  std::string receive(char connection, Patience patience) override {
    running_.settle();
    return patience == Patience::kBriefly ? client(connection).read_available()
                                          : client(connection).read_some();
  }
  bool is_closed(char connection) override { return client(connection).is_closed_by_server(); }
  void advance(Duration duration) override { running_.advance(duration); }
  void step_wall(Duration by) override {
    running_.clock().step(by);
    running_.advance(1s);
  }
  void drain() override {
    running_.settle();
    running_.on_loop([this] { running_.server().drain(); });
  }

 private:
  static Server::Options options_of(const Transcript& transcript) {
    Server::Options options = RunningServer::default_options();
    for (const auto& [name, value] : transcript.options) {
      if (name == "job_bytes_max") options.config.job_bytes_max = std::stoull(value);
      if (name == "line_bytes_max") options.line_bytes_max = std::stoull(value);
      if (name == "connections_max") options.config.connections_max = std::stoull(value);
      if (name == "password") options.secrets.password = value;
    }
    return options;
  }

  SocketClient& client(char connection) { return clients_.at(connection); }

  RunningServer running_;
  std::string protocol_;
  std::map<char, SocketClient> clients_;
  char last_sender_ = 0;
};

void run_over_sockets(const std::string& protocol) {
  test::run_transcripts(protocol, {1, 0}, [&protocol](const Transcript& transcript) {
    return std::make_unique<SocketDriver>(transcript, protocol);
  });
}

TEST_CASE("transcripts: the beanstalk protocol over real sockets") {
  run_over_sockets("beanstalk");
}

TEST_CASE("transcripts: the Faktory protocol over real sockets") {
  run_over_sockets("faktory");
}

}  // namespace
}  // namespace millrace::server
