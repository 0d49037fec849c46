#include "tools/import/faktory/redis.hpp"

#include <sys/un.h>

#include <csignal>
#include <vector>

#include "base/check.hpp"
#include "base/text.hpp"

namespace millrace::tools {
namespace {

constexpr std::size_t kShownErrorBytes = 200;
constexpr const char* kWhereRedisIs =
    ": name the socket of Faktory's Redis, as in unix:/var/lib/faktory/db/redis.sock";

std::string shown_error(std::string_view text) {
  return one_line(text, kShownErrorBytes);
}

client::Target target_of(const FaktorySource& source) {
  const bool is_unix = source.kind != FaktorySource::Kind::kHost;
  return {.host = is_unix ? source.path : source.host,
          .port = source.port,
          .is_unix = is_unix,
          .is_tls = source.is_tls,
          .ca_file = source.ca_file};
}

}  // namespace

Redis::Redis(client::Connection connection, std::string name)
    : connection_(std::move(connection)), reader_(redisReaderCreate()), name_(std::move(name)) {
  CHECK(reader_ != nullptr);
}

Outcome<Redis> Redis::connect(const FaktorySource& source, std::string name) {
  if (source.path.size() >= sizeof sockaddr_un{}.sun_path) {
    return Problem{name + ": the path of a socket has at most " +
                   std::to_string(sizeof sockaddr_un{}.sun_path - 1) + " bytes"};
  }
  // A closed connection must not end the process.
  std::signal(SIGPIPE, SIG_IGN);
  auto connection = client::Connection::open(target_of(source));
  if (!connection) {
    return Problem{
        .text = name + ": no connection to Redis: " + shown_error(connection.error().why),
        .is_passing = true};
  }
  Redis redis(std::move(*connection), std::move(name));
  if (auto logged_in = redis.log_in(source); !logged_in) return logged_in.error();
  return redis;
}

Outcome<Done> Redis::log_in(const FaktorySource& source) {
  if (!source.password.empty()) {
    const auto answer = source.user.empty() ? ask({"AUTH", source.password})
                                            : ask({"AUTH", source.user, source.password});
    // Where AUTH was renamed, Redis repeats what it was sent.
    const bool names_password =
        !answer && answer.error().text.find(source.password) != std::string::npos;
    if (names_password) return Problem{name_ + ": Redis refuses AUTH"};
    if (!answer) return answer.error();
  }
  const auto selected = ask({"SELECT", std::to_string(source.database)});
  // Faktory greets, whatever it is asked.
  if (selected && text_of_reply(**selected).starts_with("HI ")) {
    return Problem{name_ + ": this is the port of Faktory itself" + kWhereRedisIs};
  }
  if (selected) return Done{};
  if (selected.error().text.find("NOAUTH") == std::string::npos) return selected.error();
  return Problem{name_ +
                 ": Redis wants a password: put it into the variable REDISCLI_AUTH, or write "
                 "redis://:PASSWORD@HOST"};
}

void Redis::send(std::initializer_list<std::string_view> words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string_view word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* command = nullptr;
  const int bytes =
      redisFormatCommandArgv(&command, static_cast<int>(words.size()), texts.data(), sizes.data());
  // Only for want of memory.
  CHECK(bytes > 0);
  output_.append(command, static_cast<std::size_t>(bytes));
  redisFreeCommand(command);
}

Problem Redis::lost(const client::Failure& failure) const {
  return {.text = name_ + ": " + shown_error(failure.text), .is_passing = true};
}

Outcome<Done> Redis::flush() {
  const auto sent = connection_.send(output_);
  output_.clear();
  if (!sent) return lost(sent.error());
  return Done{};
}

Outcome<Done> Redis::feed() {
  if (auto flushed = flush(); !flushed) return flushed;
  const auto bytes = connection_.some();
  if (!bytes) return lost(bytes.error());
  // What is no answer is told when the next one is taken.
  (void)redisReaderFeed(reader_.get(), bytes->data(), bytes->size());
  return Done{};
}

Outcome<Redis::Reply> Redis::receive() {
  void* received = nullptr;
  while (received == nullptr) {
    if (redisReaderGetReply(reader_.get(), &received) != REDIS_OK) {
      return Problem{name_ + ": this is not Redis" + kWhereRedisIs};
    }
    if (received != nullptr) break;
    if (auto fed = feed(); !fed) return fed.error();
  }
  Reply reply(static_cast<redisReply*>(received));
  if (reply->type == REDIS_REPLY_ERROR) {
    const std::string_view text = text_of_reply(*reply);
    return Problem{.text = name_ + ": Redis says: " + shown_error(text),
                   .is_passing = text.starts_with("LOADING")};
  }
  return reply;
}

std::string_view text_of_reply(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_ERROR:
      return {reply.str, reply.len};
    default:
      return {};
  }
}

}  // namespace millrace::tools
