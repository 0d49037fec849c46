/// Bodies that only the log holds, on a disk that does not keep them.

#include <filesystem>
#include <fstream>
#include <iterator>

#include "journal/file/file_journal.hpp"
#include "server/running_server.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

constexpr int kJobs = 100;

std::string body_of(int id) {
  const std::string name = "<job " + std::to_string(id) + ">";
  return name + std::string(2000 - name.size(), '.');
}

/// A server with more bodies than may be in memory.
struct SpillingServer {
  explicit SpillingServer(const std::string& path) : directory(path), running(setup()) {
    SocketClient client = running.connect("beanstalk");
    for (int id = 1; id <= kJobs; ++id) {
      const std::string expected = "INSERTED " + std::to_string(id) + "\r\n";
      CHECK(client.ask("put 0 0 60 2000\r\n" + body_of(id) + "\r\n", expected) == expected);
    }
  }

  RunningServer::Setup setup() {
    auto journal = journal::FileJournal::open(files, directory, {.segment_bytes = 1 << 20});
    REQUIRE_MESSAGE(journal, journal.error().text);
    RunningServer::Setup made;
    made.options.memory_bytes_max = 40'000;
    made.journal = std::move(*journal);
    return made;
  }

  /// Flips a bit after the name that the job's body begins with.
  void spoil(int id) const {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      if (entry.path().extension() != ".log") continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      const std::size_t at = bytes.find(body_of(id).substr(0, 20));
      REQUIRE(at != std::string::npos);
      file.seekp(static_cast<std::streamoff>(at) + 1000);
      file.put('/');
      return;
    }
  }

  const std::string directory;
  journal::PosixFileSystem files;
  RunningServer running;
};

}  // namespace

TEST_CASE("spilled body: one that has changed on the disk is not handed out, and not lost") {
  const Scratch scratch;
  SpillingServer server(scratch.path("data"));
  server.spoil(70);
  SocketClient unlucky = server.running.connect("beanstalk");
  unlucky.send("reserve-job 70\r\n");
  CHECK(unlucky.is_closed_by_server());
  SocketClient other = server.running.connect("beanstalk");
  for (const int id : {1, 30, 90, 100}) {
    const std::string expected =
        "RESERVED " + std::to_string(id) + " 2000\r\n" + body_of(id) + "\r\n";
    CHECK(other.ask("reserve-job " + std::to_string(id) + "\r\n", expected) == expected);
  }
  CHECK(other.ask("delete 70\r\n", "DELETED\r\n") == "DELETED\r\n");
  server.running.stop();
  CHECK(server.running.logged().find("session_failed") != std::string::npos);
  CHECK(server.running.logged().find(" is damaged at offset ") != std::string::npos);
}

}  // namespace millrace::server
