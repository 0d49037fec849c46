#include "engines/nats/nats_end_watch.hpp"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace millrace::engines {
namespace {

using Json = nlohmann::json;

/// {"state": {"last_seq": 5, ...}, ...}; 0: an error, or something else.
journal::Sequence end_in(std::string_view answer) {
  const Json info = Json::parse(answer, nullptr, false);
  if (!info.is_object() || !info.contains("state")) return 0;
  const Json& state = info["state"];
  if (!state.is_object() || !state.contains("last_seq")) return 0;
  const Json& last = state["last_seq"];
  return last.is_number_unsigned() ? last.get<journal::Sequence>() : 0;
}

}  // namespace

bool NatsEndWatch::receive(NatsMailbox::Letter& letter) {
  if (answers_ == nullptr || letter.subscription != answers_->number()) return false;
  const natsMsg& answer = *letter.message;
  const std::string_view text = bytes_of(answer);
  end_ = end_in(text);
  return true;
}

void NatsEndWatch::ask(Time now) {
  due_ = now + kEndWait;
  former_end_ = std::exchange(end_, 0);
  const std::string inbox = connection_.inbox() + ".end";
  if (!connection_.is_connected()) return;
  if (answers_ == nullptr) answers_ = connection_.subscribe(inbox, now);
  if (answers_ == nullptr) return;
  // Where it is not sent, it is asked again.
  static_cast<void>(connection_.publish("$JS.API.STREAM.INFO." + stream_, inbox, ""));
}

}  // namespace millrace::engines
