#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "client/target.hpp"

namespace millrace::cli {

/// Where the web port of a server is.
struct ServerUrl {
  bool is_https = false;
  std::string host = "127.0.0.1";  ///< an IPv6 address without brackets
  int port = 7420;
  std::string path;  ///< under which a proxy has the server, as `/jobs`; mostly empty
  std::string user;
  std::string password;  ///< empty: none

  /// Without user and password, for messages: `http://127.0.0.1:7420`.
  [[nodiscard]] std::string shown() const;
};

/// Reads `[http[s]://][USER[:PASSWORD]@]HOST[:PORT][/PATH]`. The default ports are 80 and 443, as
/// for every URL, and without a scheme that of Millrace. A problem does not repeat the text, which
/// may hold a password.
[[nodiscard]] Outcome<ServerUrl> parse_server_url(std::string_view text);

struct VerbRow;

/// A filter as the JSON API has it.
struct Filter {
  std::string name;  ///< `older_than_s`
  std::string text;
  bool is_number = false;
  bool is_age = false;  ///< seconds before the present, by the server's clock
};

/// What `push` sends besides the type and the arguments. Texts of JSON are sent as they are.
struct PushChoice {
  std::string queue;
  std::string jid;
  std::string at;
  std::optional<std::int64_t> retry;
  std::optional<std::uint64_t> reserve_for_s;
  std::optional<int> priority;
  std::string custom;  ///< JSON; empty: none
};

/// What `put` sends besides the body.
struct PutChoice {
  std::string tube = "default";
  std::uint32_t priority = 1024;  ///< of pushed jobs without one, too
  std::uint64_t delay_s = 0;
  std::uint64_t ttr_s = 60;
  bool are_lines = false;  ///< each line of stdin is a job
};

/// How many jobs `fetch` takes, and what becomes of them.
struct FetchChoice {
  std::uint64_t jobs_max = 1;
  std::uint64_t wait_s = 0;
  bool deletes = false;
};

/// The limits that `throttles set` sets.
struct ThrottleChoice {
  std::optional<std::uint64_t> concurrency;
  std::optional<std::uint64_t> worker;
  std::optional<std::uint64_t> per_key;
  std::optional<std::uint64_t> timeout_s;
  std::optional<std::uint64_t> rate_count;
  std::optional<std::uint64_t> rate_s;
  bool is_unlimited = false;

  [[nodiscard]] bool has_limit() const {
    return concurrency || worker || per_key || timeout_s || rate_count;
  }
};

/// What `tokens new` asks for.
struct TokenChoice {
  std::vector<std::string> may;
  std::vector<std::string> queues;
  std::optional<std::uint64_t> expires_s;
};

/// What `dev` does besides serving.
struct DevChoice {
  bool has_demo = false;
  bool opens_pages = true;  ///< on a desktop
};

/// How `bench` measures.
struct BenchChoice {
  std::uint64_t seconds = 3;  ///< for each row
  std::size_t connections = 50;
};

/// What a verb is told by the command line.
struct Choice {
  const VerbRow* verb = nullptr;
  std::vector<std::string> words;  ///< the arguments without flags, in their order
  ServerUrl url;
  bool has_url = false;       ///< it was given, and not left at its default
  bool has_job_port = false;  ///< the same of `job_port`
  std::string password_file;  ///< empty: none
  std::string password;       ///< empty: none, or that of `url`
  std::string bearer;         ///< not empty: a token, which is sent instead of a password
  std::string ca_file;        ///< empty: the certificates of the system
  bool is_json = false;
  bool has_colors = true;  ///< on a terminal
  std::vector<std::string> states;
  std::vector<Filter> filters;
  std::string to;                         ///< the queue that jobs are moved to
  bool is_agreed = false;                 ///< --yes
  bool is_dry = false;                    ///< --dry-run
  std::optional<std::uint64_t> spread_s;  ///< of a retry
  bool is_for_all = false;                ///< --all of workers
  bool is_watched = false;                ///< shown again and again
  bool is_full = false;                   ///< arguments are not cut
  bool is_reversed = false;
  std::uint64_t rows_max = 50;
  std::string match;
  bool are_lines = false;  ///< changes are printed as NDJSON
  bool are_names = false;  ///< queues are shown by their names alone
  std::string outcome;
  std::string batch_state;  ///< empty: any
  std::optional<std::uint64_t> pause_s;
  PushChoice push;
  client::Target job_port;
  PutChoice put;
  FetchChoice fetch;
  ThrottleChoice throttle;
  TokenChoice token;
  DevChoice dev;
  BenchChoice bench;
};

}  // namespace millrace::cli
