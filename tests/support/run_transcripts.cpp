#include "support/run_transcripts.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "support/doctest.hpp"

namespace millrace::test {
namespace {

class InMemoryDriver final : public Driver {
 public:
  InMemoryDriver(InMemoryServer::Options options, Protocol protocol)
      : server_(std::move(options)), protocol_(protocol) {}

  void open(char connection) override { server_.connect(name(connection), protocol_); }
  void send(char connection, std::string_view bytes) override {
    server_.send(name(connection), bytes);
  }
  void half_close(char connection) override { server_.half_close(name(connection)); }
  void close(char connection) override { server_.close(name(connection)); }
  std::string receive(char connection, Patience) override {
    return server_.take_output(name(connection));
  }
  bool is_closed(char connection) override { return !server_.is_open(name(connection)); }
  void advance(Duration duration) override { server_.advance(duration); }
  void step_wall(Duration by) override {
    server_.advance(1s);
    server_.step_wall(by);
  }
  void drain() override { server_.drain(); }

 private:
  static std::string name(char connection) { return {connection}; }

  InMemoryServer server_;
  Protocol protocol_;
};

InMemoryServer::Options options_for(const Transcript& transcript) {
  InMemoryServer::Options options;
  for (const auto& [name, value] : transcript.options) {
    if (name == "job_bytes_max") {
      options.beanstalk.job_bytes_max = std::stoull(value);
    } else if (name == "connections_max") {
      options.faktory.connections_max = std::stoull(value);
    } else if (name == "password") {
      options.faktory.password = value;
    } else if (name == "line_bytes_max") {
      options.faktory.line_bytes_max = std::stoull(value);
    } else if (name != "newline") {
      throw std::runtime_error("unknown option " + name);
    }
  }
  return options;
}

std::vector<std::filesystem::path> list_transcripts(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  std::filesystem::path root = std::filesystem::path{MILLRACE_TRANSCRIPTS} / folder;
  for (const auto& entry : std::filesystem::directory_iterator{root}) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string describe(const std::string& path, std::size_t cut, const Mismatch& mismatch) {
  return path + ":" + std::to_string(mismatch.line) +
         (cut == 0 ? " (whole)" : " (cut at " + std::to_string(cut) + ")") + "\n  expected " +
         mismatch.expected + "\n  got      " + mismatch.got;
}

void run_transcript(const std::string& path, const std::vector<std::size_t>& cuts,
                    const MakeDriver& make_driver) {
  Transcript transcript;
  try {
    transcript = read_transcript(path);
  } catch (const std::runtime_error& error) {
    FAIL(path << ": " << error.what());
  }
  for (std::size_t cut : cuts) {
    auto mismatch = play(transcript, *make_driver(transcript), cut);
    CHECK_MESSAGE(!mismatch, (mismatch ? describe(path, cut, *mismatch) : path));
  }
}

}  // namespace

bool is_understood(const Transcript& transcript, std::string_view verb,
                   const std::vector<std::string_view>& refusals) {
  const auto& steps = transcript.steps;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    if (steps[i].kind != Step::Kind::kSend || !steps[i].text.starts_with(verb)) continue;
    const std::string_view reply = steps[i + 1].expected.text;
    const auto is_reply = [reply](std::string_view refusal) { return reply.starts_with(refusal); };
    if (std::none_of(refusals.begin(), refusals.end(), is_reply)) return true;
  }
  return false;
}

std::vector<Transcript> read_transcripts(const std::string& folder) {
  std::vector<Transcript> transcripts;
  for (const auto& path : list_transcripts(folder)) {
    transcripts.push_back(read_transcript(path.string()));
  }
  return transcripts;
}

std::unique_ptr<Driver> make_in_memory_driver(const Transcript& transcript, Protocol protocol,
                                              bool reads_ahead) {
  InMemoryServer::Options options = options_for(transcript);
  options.reads_ahead = reads_ahead;
  return std::make_unique<InMemoryDriver>(std::move(options), protocol);
}

void run_transcripts(const std::string& folder, const std::vector<std::size_t>& cuts,
                     const MakeDriver& make_driver) {
  std::vector<std::filesystem::path> paths = list_transcripts(folder);
  REQUIRE_MESSAGE(!paths.empty(), "no transcripts in " << folder);
  for (const auto& path : paths) {
    SUBCASE(path.filename().c_str()) {
      run_transcript(path.string(), cuts, make_driver);
    }
  }
}

void run_transcripts(const std::string& folder, Protocol protocol, bool reads_ahead) {
  run_transcripts(folder, {1, 2, 5, 100, 0}, [=](const Transcript& transcript) {
    return make_in_memory_driver(transcript, protocol, reads_ahead);
  });
}

}  // namespace millrace::test
