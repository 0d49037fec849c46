#include "server/import/faktory/redis.hpp"

#include <sys/time.h>
#include <sys/un.h>

#include <csignal>
#include <vector>

#include "base/text.hpp"

namespace millrace::server {
namespace {

constexpr timeval kConnectTimeout{.tv_sec = 5, .tv_usec = 0};
/// Redis answers nobody while it saves a large database by SAVE.
constexpr timeval kAnswerTimeout{.tv_sec = 60, .tv_usec = 0};
constexpr std::size_t kShownErrorBytes = 200;

redisContext* open_context(const FaktorySource& source) {
  if (source.kind == FaktorySource::Kind::kHost) {
    return redisConnectWithTimeout(source.host.c_str(), source.port, kConnectTimeout);
  }
  return redisConnectUnixWithTimeout(source.path.c_str(), kConnectTimeout);
}

std::string shown_error(std::string_view text) {
  return one_line(text, kShownErrorBytes);
}

}  // namespace

Outcome<Redis> Redis::connect(const FaktorySource& source, std::string name) {
  // hiredis would cut it.
  if (source.path.size() >= sizeof sockaddr_un{}.sun_path) {
    return Problem{name + ": the path of a socket has at most " +
                   std::to_string(sizeof sockaddr_un{}.sun_path - 1) + " bytes"};
  }
  // hiredis writes without a flag that would keep a closed connection from ending the process.
  std::signal(SIGPIPE, SIG_IGN);
  redisContext* const context = open_context(source);
  if (context == nullptr) return Problem{name + ": not enough memory"};
  Redis redis(context, std::move(name));
  if (context->err != 0) {
    return Problem{
        .text = redis.name_ + ": no connection to Redis: " + shown_error(context->errstr),
        .is_passing = true};
  }
  if (redisSetTimeout(context, kAnswerTimeout) != REDIS_OK) {
    return Problem{redis.name_ + ": " + shown_error(context->errstr)};
  }
  if (auto logged_in = redis.log_in(source); !logged_in) return logged_in.error();
  return redis;
}

Outcome<Done> Redis::log_in(const FaktorySource& source) {
  if (!source.password.empty()) {
    const auto answer = source.user.empty() ? ask({"AUTH", source.password})
                                            : ask({"AUTH", source.user, source.password});
    // Where AUTH was renamed, Redis repeats what it was sent.
    const bool is_told = !answer && answer.error().text.find(source.password) != std::string::npos;
    if (is_told) return Problem{name_ + ": Redis refuses AUTH"};
    if (!answer) return answer.error();
  }
  const auto selected = ask({"SELECT", std::to_string(source.database)});
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
  // A failure is found when the answer is received.
  (void)redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), texts.data(),
                               sizes.data());
}

Outcome<Redis::Reply> Redis::receive() {
  void* received = nullptr;
  const bool has_answer =
      redisGetReply(context_.get(), &received) == REDIS_OK && received != nullptr;
  Reply reply(static_cast<redisReply*>(received));
  if (!has_answer) {
    return Problem{
        .text = name_ + ": the connection to Redis failed: " + shown_error(context_->errstr),
        .is_passing = true};
  }
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

}  // namespace millrace::server
