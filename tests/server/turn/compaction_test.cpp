#include <chrono>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <thread>

#include "journal/file_journal.hpp"
#include "server/running_server.hpp"
#include "server/turn/compactor.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

constexpr std::uint64_t kSegmentBytes = 64 * 1024;

std::string put(std::string_view body) {
  return "put 0 0 60 " + std::to_string(body.size()) + "\r\n" + std::string(body) + "\r\n";
}

/// Says that the disk is full, whether it is or not, and has no room for a long log.
class TightJournal final : public Journal, public DiskSpace {
 public:
  TightJournal(std::unique_ptr<Journal> inner, std::uint64_t bytes_max)
      : inner_(std::move(inner)), bytes_max_(bytes_max) {}

  Outcome<Done> replay(const Visitor& visitor) override { return inner_->replay(visitor); }
  [[nodiscard]] Epoch epoch() const override { return inner_->epoch(); }
  Result<Span, Deposed> append(Epoch epoch, RecordBatch batch) override {
    return inner_->append(epoch, std::move(batch));
  }
  [[nodiscard]] Lsn durable() const override { return inner_->durable(); }
  void on_durable(std::function<void()> wake) override { inner_->on_durable(std::move(wake)); }
  Outcome<std::string> read(Lsn begin, std::size_t size) override {
    return inner_->read(begin, size);
  }
  void expect(Lsn begin, std::size_t size) override { inner_->expect(begin, size); }
  [[nodiscard]] Extent extent() const override { return inner_->extent(); }
  std::size_t trim(Lsn before) override { return inner_->trim(before); }
  void sync() override { inner_->sync(); }
  [[nodiscard]] const DiskSpace* disk_space() const override { return this; }

  [[nodiscard]] bool is_full() const override { return extent().end > bytes_max_ / 2; }
  [[nodiscard]] std::uint64_t log_bytes_max() const override { return bytes_max_; }
  [[nodiscard]] bool is_oldest_shared() const override { return false; }
  [[nodiscard]] std::size_t segment_count() const override { return 1; }

 private:
  std::unique_ptr<Journal> inner_;
  std::uint64_t bytes_max_;
};

/// A server with small segments, in a directory that outlives it.
struct CompactingServer {
  explicit CompactingServer(const std::string& directory) : running({.journal = open(directory)}) {}
  struct Segments {
    std::uint64_t bytes;
  };
  CompactingServer(const std::string& directory, Segments segments)
      : running({.journal = open(directory, segments.bytes)}) {}
  CompactingServer(const std::string& directory, std::uint64_t bytes_max)
      : running({.journal = std::make_unique<TightJournal>(open(directory), bytes_max)}) {}

  std::unique_ptr<Journal> open(const std::string& directory,
                                std::uint64_t segment_bytes = kSegmentBytes) {
    auto journal = journal::FileJournal::open(
        files, directory,
        {.segment_bytes = segment_bytes, .sync_mode = journal::SyncMode::kOff, .salt = 1});
    REQUIRE_MESSAGE(journal, journal.error().text);
    log = journal->get();
    return std::move(*journal);
  }

  std::uint64_t log_bytes() {
    std::uint64_t bytes = 0;
    running.on_loop([&] { bytes = log->extent().end - log->extent().begin; });
    return bytes;
  }

  journal::PosixFileSystem files;
  Journal* log = nullptr;
  RunningServer running;
};

/// A server may remove files meanwhile, and frees the room of a removed one a little later.
std::uint64_t bytes_in(const std::string& directory) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::error_code is_gone;
    const std::uintmax_t size = entry.file_size(is_gone);
    if (!is_gone) bytes += size;
  }
  return bytes;
}

bool comes_below(const std::string& directory, std::uint64_t bytes_max) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (bytes_in(directory) >= bytes_max) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

TEST_CASE("compaction: a log that is churned stays within twice what is needed and four segments") {
  const Scratch scratch;
  const std::string cold(1000, 'c');
  constexpr int kColdJobs = 1600;
  // A batch that does not fit leaves the rest of a segment empty: here, 70 KB of it at most.
  constexpr std::uint64_t kBytes = 512 * 1024;
  constexpr std::uint64_t kBytesMax = 2 * kColdJobs * 1032 + 4 * kBytes;
  {
    CompactingServer server(scratch.path("data"), CompactingServer::Segments{kBytes});
    SocketClient client = server.running.connect("beanstalk");
    for (int i = 1; i <= kColdJobs; ++i) {
      const std::string expected = "INSERTED " + std::to_string(i) + "\r\n";
      REQUIRE(client.ask(put(cold), expected) == expected);
    }
    client.ask("use hot\r\nwatch hot\r\nignore default\r\n",
               "USING hot\r\nWATCHING 2\r\nWATCHING 1\r\n");
    REQUIRE(client.ask(put("x"), "INSERTED 1601\r\n") == "INSERTED 1601\r\n");
    // One job goes round and round, which makes beanstalkd's log grow without end.
    std::string rounds;
    std::string expected;
    for (int i = 0; i < 100; ++i) {
      rounds += "reserve\r\nbury 1601 0\r\nkick 1\r\nreserve\r\nrelease 1601 0 0\r\n";
      expected +=
          "RESERVED 1601 1\r\nx\r\nBURIED\r\nKICKED 1\r\nRESERVED 1601 1\r\nx\r\nRELEASED\r\n";
    }
    std::uint64_t most = 0;
    for (int i = 0; i < 200; ++i) {
      REQUIRE(client.ask(rounds, expected) == expected);
      most = std::max(most, server.log_bytes());
    }
    CHECK(most < kBytesMax);
    server.running.settle();
    CHECK(comes_below(scratch.path("data"), kBytesMax));
  }
  CompactingServer again(scratch.path("data"));
  SocketClient client = again.running.connect("beanstalk");
  CHECK(client.ask("peek 1\r\n", "FOUND 1 1000\r\n" + cold + "\r\n") ==
        "FOUND 1 1000\r\n" + cold + "\r\n");
  CHECK(client.ask(put("y"), "INSERTED 1602\r\n") == "INSERTED 1602\r\n");
}

TEST_CASE("compaction: a drained log shrinks to its last segments, and no id is used again") {
  const Scratch scratch;
  {
    CompactingServer server(scratch.path("data"));
    SocketClient client = server.running.connect("beanstalk");
    const std::string body(60'000, 'b');
    for (int i = 1; i <= 40; ++i) {
      const std::string id = std::to_string(i);
      const std::string expected = "INSERTED " + id + "\r\nDELETED\r\n";
      REQUIRE(client.ask(put(body) + "delete " + id + "\r\n", expected) == expected);
    }
    server.running.settle();
    CHECK(comes_below(scratch.path("data"), 4 * kSegmentBytes));
  }
  CompactingServer again(scratch.path("data"));
  SocketClient client = again.running.connect("beanstalk");
  CHECK(client.ask(put("y"), "INSERTED 41\r\n") == "INSERTED 41\r\n");
}

TEST_CASE("compaction: a client held while a full disk was compacted continues by itself") {
  const Scratch scratch;
  CompactingServer server(scratch.path("data"), 30 * kSegmentBytes);
  SocketClient client = server.running.connect("beanstalk");
  const std::string body(1000, 'c');
  client.ask(put(body), "INSERTED 1\r\n");
  while (server.log_bytes() < 15 * kSegmentBytes) {
    client.send(put(body));
    client.read_some();
  }
  for (int i = 0; i < 3000; ++i) {
    const std::string expected = "RESERVED 1 1000\r\n" + body + "\r\nRELEASED\r\n";
    client.send("reserve\r\nrelease 1 0 0\r\n");
    std::string answer;
    while (answer.size() < expected.size()) {
      // Milliseconds: what else wakes a server does so only every five seconds.
      const std::string some = client.read_some(4s);
      REQUIRE_FALSE(some.empty());
      answer += some;
    }
    REQUIRE(answer == expected);
  }
}

}  // namespace millrace::server
