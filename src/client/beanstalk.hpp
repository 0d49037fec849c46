#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/connection.hpp"

namespace millrace::client {

/// A client of the beanstalk protocol. When it goes, the server makes the jobs that it holds ready.
class Beanstalk {
 public:
  struct NewJob {
    std::string_view body;
    std::uint32_t priority = 0;
    std::uint64_t delay_s = 0;
    std::uint64_t ttr_s = 60;
  };
  struct Job {
    std::uint64_t id = 0;
    std::string body;
  };
  struct Wait {
    std::chrono::seconds at_most{0};
  };

  [[nodiscard]] static Reply<Beanstalk> connect(const Target& target);

  [[nodiscard]] Reply<Done> use(std::string_view tube);
  /// These tubes, and no others.
  [[nodiscard]] Reply<Done> watch(const std::vector<std::string>& tubes);
  /// The id.
  [[nodiscard]] Reply<std::uint64_t> put(const NewJob& job);
  /// nullopt: none came.
  [[nodiscard]] Reply<std::optional<Job>> reserve(Wait wait);
  [[nodiscard]] Reply<Done> remove(std::uint64_t id);
  [[nodiscard]] Reply<Done> release(std::uint64_t id, std::uint64_t delay_s);
  [[nodiscard]] Reply<Done> bury(std::uint64_t id);
  /// The statistics of a job, as YAML.
  [[nodiscard]] Reply<std::string> stats(std::uint64_t id);

 private:
  explicit Beanstalk(Connection connection) : connection_(std::move(connection)) {}
  /// `bad_format`: what BAD_FORMAT means here; empty: nothing that is known.
  [[nodiscard]] Reply<Done> tell(const std::string& command, std::string_view wanted,
                                 const std::string& bad_format = {});
  [[nodiscard]] Reply<std::string> ask(std::string_view command);

  Connection connection_;
};

/// The statistics as the server writes them: `NAME: VALUE`, a line each; a value may be in quotes.
using Stats = std::map<std::string, std::string, std::less<>>;
[[nodiscard]] Stats parse_stats(std::string_view text);

}  // namespace millrace::client
