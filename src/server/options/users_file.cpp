#include "server/options/users_file.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "server/options/config_file.hpp"
#include "server/options/password.hpp"
#include "server/options/throttle_options.hpp"

namespace millrace::server {
namespace {

using access::Right;
using access::Rights;
using Texts = std::vector<std::string>;

constexpr std::size_t kPatternsMax = 100;
constexpr std::size_t kPatternBytesMax = 200;
/// With many of them, a name could take long to match.
constexpr std::size_t kStarsMax = 4;

constexpr std::string_view kTables[] = {"role", "user", "listener", "proxy"};
constexpr std::string_view kRoleKeys[] = {"name", "queues", "may"};
constexpr std::string_view kUserKeys[] = {"name", "roles", "secret-file", "web-password"};
constexpr std::size_t kProxiesMax = 20;
constexpr std::size_t kHeaderNameBytesMax = 64;
constexpr std::string_view kProxyKeys[] = {"user-header", "from"};
constexpr std::string_view kListenerKeys[] = {"protocol", "address", "user", "uid"};

/// Those that every file has.
std::map<std::string, access::Grant, std::less<>> built_in_roles() {
  const auto everywhere = [](Rights rights) {
    return access::Grant{.queues = {"*"}, .may = rights};
  };
  return {{"viewer", everywhere({Right::kView})},
          {"operator", everywhere({Right::kPush, Right::kView, Right::kOperate})},
          {"admin",
           everywhere({Right::kPush, Right::kWork, Right::kView, Right::kOperate, Right::kAdmin})}};
}

/// As `shown_address` writes it. Empty: it is no address.
std::string address_in(const std::string& text) {
  if (text == "unix") return "unix socket";
  in6_addr bytes{};
  char shown[INET6_ADDRSTRLEN] = {};
  for (const int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, text.c_str(), &bytes) != 1) continue;
    if (::inet_ntop(family, &bytes, shown, sizeof shown) != nullptr) return shown;
  }
  return {};
}

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return is_letter(c) || is_digit(c) ||
           std::string_view("-_.@").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= kUserNameBytesMax && std::ranges::all_of(text, fits);
}

class Reader {
 public:
  Reader(const ConfigDocument& document, std::filesystem::path folder)
      : document_(document), folder_(std::move(folder)) {}

  Outcome<UsersFile> read() {
    const ConfigTable root(document_, document_.root());
    if (auto keys = root.check_keys("the users file", kTables); !keys) return keys.error();
    if (auto read = each("role", kRoleKeys, &Reader::read_role); !read) return read.error();
    if (auto read = each("user", kUserKeys, &Reader::read_user); !read) return read.error();
    if (users_.empty()) return Problem{document_.place(1) + ": there is no [[user]]"};
    if (auto read = each("listener", kListenerKeys, &Reader::read_listener); !read) {
      return read.error();
    }
    access::TrustedProxy proxy;
    if (auto read = read_proxy(proxy); !read) return read.error();
    // Shared: see there.
    file_.users = std::make_shared<const access::Users>(std::move(users_), std::move(proxy));
    return std::move(file_);
  }

 private:
  using ReadOne = Outcome<Done> (Reader::*)(const ConfigTable& table);

  Outcome<Done> each(const std::string& name, std::span<const std::string_view> keys,
                     ReadOne read_one) {
    std::size_t count = 0;
    return read_entries(document_, name, [&](const ConfigTable& table) -> Outcome<Done> {
      if (++count > kUsersMax) return problem(table, "more than 1000 of [[" + name + "]]");
      if (auto known = table.check_keys(name, keys); !known) return known;
      return (this->*read_one)(table);
    });
  }

  static Problem problem(const ConfigTable& table, const std::string& why) {
    return table.problem(table.table(), why);
  }
  /// Where the value is.
  static Problem problem(const ConfigTable& table, std::string_view key, const std::string& why) {
    return table.problem(table.at(key), why);
  }

  /// A text, or a list of them. Empty: it is not there.
  [[nodiscard]] Outcome<Texts> texts(const ConfigTable& table, std::string_view key,
                                     std::size_t max) const {
    const toml::node* const node = table.table().get(key);
    Texts found;
    if (node == nullptr) return found;
    const auto add = [&](const toml::node& each) {
      const auto* const text = each.as_string();
      if (text == nullptr || text->get().empty()) return false;
      found.push_back(text->get());
      return true;
    };
    bool is_good = node->is_array() || add(*node);
    if (const toml::array* const list = node->as_array()) {
      for (const toml::node& each : *list) is_good = is_good && add(each);
    }
    if (!is_good || found.empty()) {
      return problem(table, key,
                     std::string(key) + " must be a text in quotes" +
                         (max > 1 ? ", or a list of at least one" : " and not empty"));
    }
    if (found.size() > max) {
      return problem(table, key, std::string(key) + ": at most " + std::to_string(max));
    }
    return found;
  }

  Outcome<std::string> read_name(const ConfigTable& table, const std::string& what) const {
    auto found = texts(table, "name", 1);
    if (!found) return found.error();
    if (found->size() == 1 && is_name(found->front())) return std::move(found->front());
    return problem(table, "name",
                   "the name of a " + what + " has 1 to 64 letters, digits, -, _, . and @");
  }

  Outcome<Done> read_role(const ConfigTable& table) {
    auto name = read_name(table, "role");
    if (!name) return name.error();
    auto queues = texts(table, "queues", kPatternsMax);
    if (!queues) return queues.error();
    auto may = texts(table, "may", access::kRightNames.size());
    if (!may) return may.error();
    if (queues->empty() || may->empty()) {
      return problem(table, "role " + *name + ": queues and may are needed");
    }
    access::Grant grant;
    for (const std::string& pattern : *queues) {
      if (pattern.size() > kPatternBytesMax || has_open_bracket(pattern) ||
          static_cast<std::size_t>(std::ranges::count(pattern, '*')) > kStarsMax) {
        return problem(
            table, "queues",
            "'" + one_line(pattern, kShownKeyBytesMax) +
                "' is not a pattern: at most 200 bytes and four *, and each [ has its ]");
      }
      if (may_match_queue(pattern)) continue;
      file_.warnings.push_back(
          problem(table, "queues",
                  "no queue can have a name like '" + one_line(pattern, kShownKeyBytesMax) + "'")
              .text);
    }
    grant.queues = std::move(*queues);
    for (const std::string& each : *may) {
      const std::optional<Right> right = access::right_of(each);
      if (!right) {
        return problem(table, "may",
                       "'" + one_line(each, kShownKeyBytesMax) +
                           "' is not a right: push, work, view, operate, admin");
      }
      grant.may.add(*right);
    }
    if (roles_.emplace(*name, std::move(grant)).second) return Done{};
    return problem(table, "name", "there is a role " + *name + " already");
  }

  Outcome<Done> read_user(const ConfigTable& table) {
    auto name = read_name(table, "user");
    if (!name) return name.error();
    if (!names_.insert(*name).second) {
      return problem(table, "name", "there is a user " + *name + " already");
    }
    access::User user;
    user.name = std::move(*name);
    auto roles = texts(table, "roles", kPatternsMax);
    if (!roles) return roles.error();
    if (roles->empty()) return problem(table, "user " + user.name + ": roles are needed");
    std::size_t patterns = 0;
    for (const std::string& each : *roles) {
      const auto role = roles_.find(each);
      if (role == roles_.end()) {
        return problem(table, "roles",
                       "there is no role '" + one_line(each, kShownKeyBytesMax) + "'");
      }
      user.grants.push_back(role->second);
      patterns += role->second.queues.size();
    }
    if (patterns > kPatternsMax) {
      return problem(table, "roles", "the roles of a user have at most 100 patterns");
    }
    if (auto read = read_secrets(table, user); !read) return read;
    if (auto read = read_web_passwords(table, user); !read) return read;
    users_.push_back(std::move(user));
    return Done{};
  }

  Outcome<Done> read_secrets(const ConfigTable& table, access::User& user) {
    auto files = texts(table, "secret-file", access::kSecretsMax);
    if (!files) return files.error();
    for (const std::string& given : *files) {
      const std::string path = (folder_ / given).string();
      auto file = read_password_file(path, "secret file");
      if (!file) return problem(table, "secret-file", file.error().text);
      if (file->is_readable_by_all) {
        file_.warnings.push_back(problem(table, "secret-file", "every user can read " + path).text);
      }
      if (file->password.size() < access::kSecretBytesMin) {
        return problem(table, "secret-file", "the secret in " + path + " is shorter than 16 bytes");
      }
      if (std::ranges::find(user.secrets, file->password) != user.secrets.end()) {
        return problem(table, "secret-file", "both secrets of " + user.name + " are the same");
      }
      if (!secrets_.insert(file->password).second) {
        return problem(table, "secret-file",
                       "the secret in " + path + " is there twice: each user has its own");
      }
      user.secrets.push_back(std::move(file->password));
    }
    return Done{};
  }

  Outcome<Done> read_web_passwords(const ConfigTable& table, access::User& user) {
    auto hashes = texts(table, "web-password", access::kSecretsMax);
    if (!hashes) return hashes.error();
    for (const std::string& hash : *hashes) {
      // It tells hashes of other parameters from texts that are no hash.
      const bool is_hash =
          hash.starts_with("$argon2id$") && hash.size() < crypto_pwhash_STRBYTES &&
          crypto_pwhash_str_needs_rehash(hash.c_str(), crypto_pwhash_OPSLIMIT_INTERACTIVE,
                                         crypto_pwhash_MEMLIMIT_INTERACTIVE) == 0;
      if (!is_hash) {
        return problem(table, "web-password",
                       "web-password is not a hash made by `millrace users hash`");
      }
    }
    user.web_passwords = std::move(*hashes);
    return Done{};
  }

  Outcome<Done> read_listener(const ConfigTable& table) {
    UserListener listener;
    const auto protocol = texts(table, "protocol", 1);
    if (!protocol) return protocol.error();
    if (*protocol != Texts{"beanstalk"}) {
      return problem(table, "protocol", R"(protocol must be "beanstalk": the others have logins)");
    }
    const auto address = texts(table, "address", 1);
    if (!address) return address.error();
    if (!address->empty()) {
      auto parsed = parse_address(address->front());
      if (!parsed) return problem(table, "address", "address: " + parsed.error().text);
      listener.address = std::move(*parsed);
    }
    const auto user = texts(table, "user", 1);
    if (!user) return user.error();
    if (!user->empty()) listener.user = user->front();
    if (auto read = read_uids(table, listener); !read) return read;
    if (listener.user.empty() == listener.uids.empty()) {
      return problem(table, "a listener has either a user or uid = { NUMBER = \"USER\" }");
    }
    if (!listener.user.empty() && !names_.contains(listener.user)) {
      return problem(table, "user",
                     "there is no user '" + one_line(listener.user, kShownKeyBytesMax) + "'");
    }
    if (file_.listener_at(listener.address) != nullptr) {
      return problem(table, "there is a listener of this address already");
    }
    file_.listeners.push_back(std::move(listener));
    return Done{};
  }

  Outcome<Done> read_proxy(access::TrustedProxy& proxy) const {
    const ConfigTable root(document_, document_.root());
    const toml::node* const node = root.table().get("proxy");
    if (node == nullptr) return Done{};
    if (!node->is_table()) return root.problem(*node, "write [proxy], a table");
    const ConfigTable table = root.part(*node->as_table());
    if (auto keys = table.check_keys("proxy", kProxyKeys); !keys) return keys.error();
    const auto header = texts(table, "user-header", 1);
    if (!header) return header.error();
    const auto addresses = texts(table, "from", kProxiesMax);
    if (!addresses) return addresses.error();
    if (header->empty() || addresses->empty()) {
      return problem(table, "proxy: user-header and from are needed");
    }
    proxy.header = lower_case(header->front());
    const auto is_of_name = [](char c) { return is_letter(c) || is_digit(c) || c == '-'; };
    // Others have a meaning of their own.
    if (proxy.header.size() > kHeaderNameBytesMax || !proxy.header.starts_with("x-") ||
        !std::ranges::all_of(proxy.header, is_of_name)) {
      return problem(table, "user-header",
                     "user-header is a name such as X-Forwarded-User, which begins with X-");
    }
    for (const std::string& each : *addresses) {
      std::string address = address_in(each);
      if (address.empty()) {
        return problem(table, "from",
                       "'" + one_line(each, kShownKeyBytesMax) +
                           "' is no address such as 10.0.0.5, and not unix");
      }
      proxy.addresses.push_back(std::move(address));
    }
    return Done{};
  }

  Outcome<Done> read_uids(const ConfigTable& table, UserListener& listener) const {
    const toml::node* const node = table.table().get("uid");
    if (node == nullptr) return Done{};
    const toml::table* const uids = node->as_table();
    if (uids == nullptr) return table.problem(*node, "uid must be { NUMBER = \"USER\" }");
    for (const auto& [key, value] : *uids) {
      const std::string_view digits = key.str();
      std::uint32_t number = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), number);
      const auto* const user = value.as_string();
      if (error != std::errc{} || end != digits.data() + digits.size() || user == nullptr) {
        return table.problem(value, "uid must be { NUMBER = \"USER\" }");
      }
      if (!names_.contains(user->get())) {
        return table.problem(value,
                             "there is no user '" + one_line(user->get(), kShownKeyBytesMax) + "'");
      }
      if (!listener.uids.emplace(number, user->get()).second) {
        return table.problem(value, "uid " + std::to_string(number) + " is there twice");
      }
    }
    return Done{};
  }

  const ConfigDocument& document_;
  const std::filesystem::path folder_;
  std::map<std::string, access::Grant, std::less<>> roles_ = built_in_roles();
  std::set<std::string, std::less<>> names_;
  std::set<std::string, std::less<>> secrets_;
  std::vector<access::User> users_;
  UsersFile file_;
};

}  // namespace

const UserListener* UsersFile::listener_at(const std::optional<Address>& address) const {
  const auto found = std::ranges::find(listeners, address, &UserListener::address);
  return found == listeners.end() ? nullptr : &*found;
}

Outcome<Done> check_listeners(const UsersFile& users, const Config& config,
                              bool has_beanstalk_port) {
  if (users.users && has_beanstalk_port && users.listener_at(std::nullopt) == nullptr) {
    return Problem{
        "the users file does not name a user for the beanstalk port: add a [[listener]] with "
        "protocol = \"beanstalk\" and user = \"NAME\", or set --beanstalk off"};
  }
  const std::optional<Address> ports[] = {config.beanstalk, config.faktory, config.web};
  for (const UserListener& listener : users.listeners) {
    const bool is_plain = !listener.address && listener.uids.empty();
    if (!config.log.empty() && !is_plain) {
      return Problem{"with --log, a [[listener]] has a user, and neither address nor uid"};
    }
    const std::optional<Address>& address = listener.address ? listener.address : config.beanstalk;
    if (!listener.uids.empty() && !(address && address->is_unix())) {
      return Problem{"uid of a [[listener]] is for unix sockets"};
    }
    if (!listener.address) continue;
    const auto is_taken = [&](const auto& port) { return are_same_place(port, listener.address); };
    const auto of_users = std::ranges::count_if(
        users.listeners, [&](const auto& each) { return is_taken(each.address); });
    if (std::ranges::any_of(ports, is_taken) || of_users > 1) {
      return Problem{"two ports have the address " + listener.address->text()};
    }
  }
  return Done{};
}

Outcome<UsersFile> read_users_file(const std::string& path) {
  const auto problem = [&](const std::string& why) {
    return Problem{"cannot use users file " + path + ": " + why};
  };
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return problem(std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) return problem("not a regular file");
  if ((facts.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0) {
    return problem("other users can read or write it: chmod 640");
  }
  if (facts.st_uid != 0 && facts.st_uid != geteuid()) {
    return problem("it must belong to root, or to the user that runs this program");
  }
  const auto document = ConfigDocument::read({path});
  if (!document) return document.error();
  return Reader(*document, std::filesystem::path(path).parent_path()).read();
}

}  // namespace millrace::server
