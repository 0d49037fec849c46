#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "faktory/service.hpp"
#include "server/options/config_file.hpp"
#include "server/options/config_tables.hpp"
#include "server/options/option_rows.hpp"
#include "server/options/other_options.hpp"
#include "server/process/process.hpp"

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

constexpr int kExitFailed = 1;
constexpr int kFlagsExitStatus = 2;

constexpr const char* kFlagsUsage =
    "Use: faktory [options]\n"
    " -b ADDR  address for clients and workers (default is localhost:7419)\n"
    " -w ADDR  address for the web UI; :0 means no web UI (default is localhost:7420)\n"
    " -e ENV   development, staging or production (default is FAKTORY_ENV, or development)\n"
    " -d DIR   data directory (default depends on ENV: ~/.faktory/db or /var/lib/faktory/db)\n"
    " -c DIR   directory of conf.d, certificate and key (default: ~/.faktory or /etc/faktory)\n"
    " -l LEVEL accepted and ignored\n"
    " -worker-timeout TIME\n"
    "          requeue jobs of a lost worker after this time, such as 90s or 5m, or off (default "
    "is MILLRACE_WORKER_TIMEOUT, or 60s)\n"
    " -v       show version information\n"
    " -h       show this help\n"
    "ADDR is HOST:PORT, or :PORT for every address, IPv6 and IPv4. MILLRACE_WEB_HOST\n"
    "has the names of a web UI on localhost behind a proxy, with commas between them.\n";

constexpr const char* kDefaultBinding = "localhost:7419";
constexpr const char* kDefaultWebBinding = "localhost:7420";
constexpr const char* kNoWebBinding = ":0";
constexpr const char* kWebPasswordKey = "web.password";
constexpr const char* kPasswordFile = "/etc/faktory/password";
/// After the name of the environment.
constexpr const char* kNoPassword =
    " requires a password; set FAKTORY_PASSWORD, or write it into /etc/faktory/password "
    "(FAKTORY_SKIP_PASSWORD=1 starts without one)";

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// Go opens 0.0.0.0 for IPv6 as well, as it does `:7419`.
Outcome<Address> parse_binding(const std::string& text) {
  Outcome<Address> address = parse_address(text);
  if (address && address->host == "0.0.0.0") address->host.clear();
  return address;
}

/// What the tables `faktory` and `web` of the config files say, by key. All keys that have an
/// effect are there; those that no file has are empty.
using FileSettings = std::map<std::string, std::string, std::less<>>;

FileSettings no_settings() {
  FileSettings settings{{kWebPasswordKey, ""}};
  for (const OptionRow& row : kOptionRows) {
    if (row.others.faktory.key != nullptr) settings.emplace(row.others.faktory.key, "");
  }
  return settings;
}

bool has_settings(std::string_view table) {
  return table == "faktory" || table == "web";
}

Outcome<FileSettings> read_settings(const ConfigDocument& document, Config& config) {
  FileSettings settings = no_settings();
  for (const Setting& setting : document.settings()) {
    if (!has_settings(setting.path.front())) continue;
    const std::string name = setting.name();
    const auto found = settings.find(name);
    const bool is_empty_table =
        setting.path.size() == 1 && setting.kind == Setting::Kind::kEmptyTable;
    if (found == settings.end() && !is_empty_table) {
      config.ignored_keys.push_back({.key = setting.shown_name(), .place = setting.place});
    }
    if (found == settings.end()) continue;
    const bool is_number =
        name == "faktory.worker_timeout" && setting.kind == Setting::Kind::kNumber;
    if (setting.kind != Setting::Kind::kString && !is_number) {
      return Problem{setting.place + ": " + name + " must be a string in quotes"};
    }
    found->second = setting.text;
  }
  return settings;
}

/// Whether the file has only tables that are read from each file.
bool has_tables_only(const ConfigDocument& document) {
  return std::ranges::all_of(document.root(),
                             [](const auto& member) { return is_table(member.first.str()); });
}

/// Tables are applied at once, those of each file. The other files are one document, in
/// alphabetical order, as Faktory reads them.
Outcome<FileSettings> read_files(const fs::path& directory, Config& config) {
  const auto paths = toml_files(directory / "conf.d");
  if (!paths) return paths.error();
  const auto each = read_each(*paths);
  if (!each) return each.error();
  std::vector<std::string> together;
  for (std::size_t i = 0; i < each->size(); ++i) {
    if (!has_tables_only((*each)[i])) together.push_back((*paths)[i]);
  }
  const auto document = ConfigDocument::read(together);
  if (!document) return document.error();
  if (auto applied = apply_tables(*each, config); !applied) return applied.error();
  const auto is_known = [](std::string_view key) { return is_table(key) || has_settings(key); };
  note_ignored(*document, is_known, config);
  return read_settings(*document, config);
}

/// Faktory looks at no Host. Where only this machine can connect, we do: a web page could be behind
/// the name.
constexpr Personality kFaktoryPersonality{
    .checks_host_for_others = false,
    .web_hosts_option = "MILLRACE_WEB_HOST, or to hosts in [web] of the config files"};

/// What Faktory has no variable for has the one of `millrace serve`.
bool is_read(std::string_view variable) {
  const auto is_of_row = [&](const OptionRow& row) {
    return row.others.faktory.variable != nullptr && row.others.faktory.variable == variable;
  };
  return variable == "FAKTORY_ENV" || variable == "FAKTORY_SKIP_PASSWORD" ||
         std::ranges::any_of(kOptionRows, is_of_row);
}

/// Whether Kubernetes or Docker has set it, since a service is called like that.
bool is_of_service(std::string_view name) {
  return name.find("_SERVICE_") != name.npos || name.find("_PORT_") != name.npos ||
         name.ends_with("_PORT");
}

/// Variables of Faktory or Millrace that have no effect, and those that look like one. Only the
/// names: a value may have a password in it.
void note_ignored_variables(Config& config) {
  std::vector<std::string> ignored;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    const bool is_empty = text.size() <= name.size() + 1;
    const bool is_meant =
        (name.starts_with("FAKTORY") || name.starts_with("MILLRACE_")) && !is_of_service(name);
    const bool is_of_redis = name == "REDIS_URL" || name == "REDIS_PROVIDER";
    if (!is_empty && !is_read(name) && (is_meant || is_of_redis)) {
      ignored.push_back(one_line(name, kShownKeyBytesMax));
    }
  }
  std::sort(ignored.begin(), ignored.end());
  for (std::string& name : ignored) {
    config.ignored_keys.push_back({.key = std::move(name), .place = "environment"});
  }
}

class FlagReader {
 public:
  explicit FlagReader(const std::vector<std::string>& arguments) : arguments_(arguments) {
    Config& config = read_.config;
    config.beanstalk.reset();
    // Faktory has its own rule: `settle_password` requires one in staging and production.
    config.insecure = {.faktory = true, .web = true};
    config.personality = kFaktoryPersonality;
  }

  OtherInvocation read() {
    environment_ = environment_variable("FAKTORY_ENV").value_or("");
    if (environment_.empty()) environment_ = "development";
    while (next_ < arguments_.size() && !read_.exit_status) read_flag(arguments_[next_++]);
    if (!read_.exit_status) settle();
    return std::move(read_);
  }

 private:
  /// `-b ADDR`, `-b=ADDR`, and the same with two dashes.
  void read_flag(std::string_view argument) {
    std::string_view name =
        argument.substr(std::min(argument.find_first_not_of('-'), argument.size()));
    const std::size_t dashes = argument.size() - name.size();
    const std::size_t equals = std::min(name.find('='), name.size());
    std::optional<std::string> value;
    if (equals < name.size()) value = name.substr(equals + 1);
    name = name.substr(0, equals);
    if (dashes < 1 || dashes > 2 || name.empty()) return refuse_unknown(argument);
    if (name == "v") return end(0, "Faktory " + faktory::Settings{}.version + "\n");
    if (name == "h") return end(0, kFlagsUsage);
    std::string* target = target_of(name);
    if (target == nullptr) return refuse_unknown(argument);
    if (!value && next_ == arguments_.size())
      return refuse(std::string(argument) + " needs a value");
    *target = value ? *value : arguments_[next_++];
  }

  std::string* target_of(std::string_view flag) {
    for (std::size_t i = 0; i < kOptionRows.size(); ++i) {
      const FaktoryNames& names = kOptionRows[i].others.faktory;
      if (names.flag != nullptr && names.flag == flag && !names.has_own_rules) return &flags_[i];
    }
    if (flag.size() != 1) return nullptr;
    switch (flag.front()) {
      case 'b':
        return &binding_;
      case 'e':
        return &environment_;
      case 'd':
        return &storage_;
      case 'c':
        return &directory_;
      case 'w':
        return &web_binding_;
      case 'l':
        return &ignored_;
      default:
        return nullptr;
    }
  }

  void settle() {
    constexpr std::array kEnvironments = {"development", "staging", "production"};
    if (std::find(kEnvironments.begin(), kEnvironments.end(), environment_) ==
        kEnvironments.end()) {
      return fail("unknown environment '" + environment_ + "'");
    }
    if (!settle_directories()) {
      return fail("there is no home directory: set HOME, or give -d and -c");
    }
    note_ignored_variables(read_.config);
    if (!ignored_.empty()) {
      read_.config.ignored_keys.push_back({.key = "-l", .place = "command line"});
    }
    const Outcome<FileSettings> files = read_files(directory_, read_.config);
    if (!files) return fail(files.error().text);
    settle_rows(*files);
    settle_binding(files->at("faktory.binding"));
    settle_web(files->at("web.binding"));
    read_.config.web_password = files->at(kWebPasswordKey);
    if (are_same_place(read_.config.faktory, read_.config.web)) {
      return fail("-b and -w are both " + read_.config.web->text() +
                  "; each needs an address of its own");
    }
    settle_password(files->at("faktory.password"));
    settle_tls();
    settle_storage();
  }

  /// False: they are in the user's home, and nobody knows that.
  bool settle_directories() {
    if (!is_development()) {
      if (directory_.empty()) directory_ = "/etc/faktory";
      if (storage_.empty()) storage_ = "/var/lib/faktory/db";
    }
    if (!directory_.empty() && !storage_.empty()) return true;
    std::string home = environment_variable("HOME").value_or("");
    if (home.empty()) home = find_home().value_or("");
    if (home.empty()) return false;
    if (directory_.empty()) directory_ = fs::path(home) / ".faktory";
    if (storage_.empty()) storage_ = fs::path(home) / ".faktory/db";
    return true;
  }

  [[nodiscard]] bool is_development() const { return environment_ == "development"; }

  /// Options that are as with `millrace serve`: a flag wins over a variable, that over the files.
  void settle_rows(const FileSettings& files) {
    for (std::size_t i = 0; i < kOptionRows.size(); ++i) {
      const OptionRow& row = kOptionRows[i];
      const FaktoryNames& names = row.others.faktory;
      if (names.has_own_rules) continue;
      std::string text = names.key == nullptr ? "" : files.at(names.key);
      std::string source = names.key == nullptr ? "" : names.key;
      const auto variable =
          names.variable == nullptr ? std::nullopt : environment_variable(names.variable);
      if (variable && !variable->empty()) {
        text = *variable;
        source = names.variable;
      }
      if (!flags_[i].empty()) {
        text = flags_[i];
        source = std::string("-") + names.flag;
      }
      if (text.empty()) continue;
      const Outcome<Done> applied = row.apply(read_.config, text);
      if (!applied) fail(source + ": " + applied.error().text);
    }
  }

  /// A flag that is given, with another value than the default, wins over the file.
  void settle_binding(const std::string& from_file) {
    const bool is_default = binding_ == kDefaultBinding;
    const Outcome<Address> address =
        parse_binding(is_default && !from_file.empty() ? from_file : binding_);
    if (!address) return fail(address.error().text);
    read_.config.faktory = *address;
  }

  void settle_web(const std::string& from_file) {
    const bool is_default = web_binding_ == kDefaultWebBinding;
    const std::string& text = is_default && !from_file.empty() ? from_file : web_binding_;
    read_.config.web.reset();
    if (text == kNoWebBinding) return;
    const Outcome<Address> address = parse_binding(text);
    if (!address) return fail(address.error().text);
    read_.config.web = *address;
  }

  void settle_password(const std::string& from_file) {
    std::string password = environment_variable("FAKTORY_PASSWORD").value_or(from_file);
    if (password.empty() && !is_development() && is_file(kPasswordFile)) password = kPasswordFile;
    (password.starts_with('/') ? read_.config.password_file : read_.config.password) = password;
    const std::string skip = environment_variable("FAKTORY_SKIP_PASSWORD").value_or("");
    const bool is_skipped = skip == "1" || skip == "true" || skip == "yes";
    if (password.empty() && !is_development() && !is_skipped) fail(environment_ + kNoPassword);
  }

  /// As in Faktory, with both files or not at all. One that is there and cannot be used must not
  /// lead to ports without TLS.
  void settle_tls() {
    std::vector<std::string> found;
    for (const char* const name : {"public.cert.pem", "private.key.pem"}) {
      const fs::path file = fs::path(directory_) / name;
      std::error_code error;
      const fs::file_type type = fs::status(file, error).type();
      if (type == fs::file_type::not_found) continue;
      if (type != fs::file_type::regular) {
        const std::string why = error ? error.message() : "not a regular file";
        return fail("cannot use " + file.string() + ": " + why);
      }
      found.push_back(file);
    }
    if (found.size() == 1) {
      read_.config.ignored_keys.push_back({.key = found.front(), .place = directory_});
    }
    if (found.size() < 2) return;
    read_.config.tls_certificate_file = found.front();
    read_.config.tls_key_file = found.back();
  }

  /// Faktory creates its data directory with all parents.
  void settle_storage() {
    if (read_.exit_status) return;
    std::error_code error;
    fs::create_directories(storage_, error);
    if (error) return fail("cannot use directory " + storage_ + ": " + error.message());
    read_.config.data = storage_;
  }

  void end(int status, const std::string& text) {
    read_.output += text;
    read_.exit_status = status;
  }

  /// The first failure is reported; the steps after it go on without effect.
  void fail(const std::string& text) {
    if (read_.exit_status) return;
    read_.errors += "faktory: " + text + "\n";
    read_.exit_status = kExitFailed;
  }

  void refuse_unknown(std::string_view argument) {
    refuse("unknown flag " + std::string(argument));
  }

  void refuse(const std::string& text) {
    read_.errors += "faktory: " + text + "\n" + kFlagsUsage;
    read_.exit_status = kFlagsExitStatus;
  }

  const std::vector<std::string>& arguments_;
  std::size_t next_ = 0;
  std::string binding_ = kDefaultBinding;
  std::string web_binding_ = kDefaultWebBinding;
  std::string environment_;
  std::string storage_;
  std::string directory_;
  std::string ignored_;
  std::array<std::string, kOptionRows.size()> flags_;  ///< those of `settle_rows`
  OtherInvocation read_;
};

}  // namespace

OtherInvocation read_faktory_invocation(const std::vector<std::string>& arguments) {
  OtherInvocation invocation = FlagReader(arguments).read();
  invocation.config.handover = read_handover();
  return invocation;
}

}  // namespace millrace::server
