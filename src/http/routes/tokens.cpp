#include "http/routes/tokens.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/text.hpp"
#include "http/kit/guard.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"

namespace millrace::http {
namespace {

constexpr std::uint64_t kTokenSecondsMin = 60;
constexpr std::uint64_t kTokenSecondsMax = 366 * 24 * 3600;
constexpr std::size_t kTokenPatternBytesMax = 200;
/// With many of them, a name could take long to match.
constexpr std::ptrdiff_t kTokenStarsMax = 2;

using Texts = std::vector<std::string>;

Json right_names(access::Rights rights) {
  Json names = Json::array();
  for (const auto& [name, right] : access::kRightNames) {
    if (rights.has(right)) names.push_back(name);
  }
  return names;
}

Json show_token(const Token& token, const Call& call) {
  const WallClock clock = call.site.broker.view().wall_clock();
  const auto used = call.site.token_uses.find(token.hash);
  return {{"id", token.id()},
          {"name", token.name},
          {"user", token.user},
          {"may", right_names(access::Rights::from_bits(token.may))},
          {"queues", token.queues},
          {"made_at", show_time(token.made_at, {})},
          {"expires_at", show_time(token.expires_at, {})},
          {"has_expired", token.has_expired(clock.shown(call.moment.now))},
          {"last_used_at",
           used == call.site.token_uses.end() ? Json(nullptr) : show_time(used->second, clock)}};
}

/// Administrators see and revoke those of others.
bool is_token_seen(const Token& token, const access::Caller& caller) {
  return token.user == caller.name() || caller.may_everywhere(access::Right::kAdmin);
}

/// nullopt: the member is no list of 1 to `count_max` texts.
std::optional<Texts> read_texts(const Json& members, const char* name, std::size_t count_max) {
  const auto found = members.find(name);
  if (found == members.end() || !found->is_array()) return std::nullopt;
  if (found->empty() || found->size() > count_max) return std::nullopt;
  const auto is_text = [](const Json& each) { return each.is_string(); };
  if (!std::all_of(found->begin(), found->end(), is_text)) return std::nullopt;
  return found->get<Texts>();
}

bool is_control_byte(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

bool is_token_name(const std::string& text) {
  return !trimmed(text).empty() && text.size() <= kTokenNameBytesMax &&
         std::ranges::none_of(text, is_control_byte);
}

bool is_queue_pattern(const std::string& text) {
  return !text.empty() && text.size() <= kTokenPatternBytesMax &&
         std::ranges::none_of(text, is_control_byte) &&
         std::ranges::count(text, '*') <= kTokenStarsMax;
}

/// What the members ask for, without hash, user and times.
Outcome<Token> read_token(const Json& members) {
  Token token{.hash = {}, .name = read_text(members, "name"), .user = {}};
  if (!is_token_name(token.name)) {
    return Problem{concat("name is not a text of 1 to ", kTokenNameBytesMax, " bytes in one line")};
  }
  const auto names = read_texts(members, "may", access::kRightNames.size());
  access::Rights may;
  for (const std::string& each : names.value_or(Texts{})) {
    const auto right = access::right_of(each);
    if (!right) return Problem{"may has a right other than push, work, view, operate and admin"};
    may.add(*right);
  }
  if (!names) return Problem{"may is not a list of rights: push, work, view, operate, admin"};
  token.may = may.bits();
  auto queues = members.contains("queues") ? read_texts(members, "queues", kTokenQueuesMax)
                                           : std::optional(Texts{"*"});
  if (!queues || !std::ranges::all_of(*queues, is_queue_pattern)) {
    return Problem{concat("queues is not a list of 1 to ", kTokenQueuesMax,
                          " patterns, each of at most ", kTokenPatternBytesMax, " bytes and ",
                          kTokenStarsMax, " stars")};
  }
  token.queues = *std::move(queues);
  return token;
}

/// A right that the caller lacks; nullopt: the token has no more than that.
std::optional<Response> refuse_rights_of(const Token& token, const access::Caller& caller) {
  const auto may = access::Rights::from_bits(token.may);
  for (const auto& [name, right] : access::kRightNames) {
    for (const std::string& queue : token.queues) {
      if (!may.has(right) || caller.may_all_of(right, queue)) continue;
      return refuse(403,
                    concat("a token has no more rights than its user: ", caller.name(),
                           " lacks the right ", name, " for ", queue == "*" ? "all queues" : queue),
                    kNotAllowed);
    }
  }
  return std::nullopt;
}

std::string describe_token(const Token& token) {
  std::string text = concat(token.name, ": may");
  for (const Json& each : right_names(access::Rights::from_bits(token.may))) {
    text += concat(" ", each.get<std::string>());
  }
  text += concat("; until ", show_time(token.expires_at, {}).get<std::string>(), "; queues");
  for (const std::string& each : token.queues) text += concat(" ", each);
  return text;
}

Response refuse_new_token(Refusal why, const Token& token) {
  if (why == Refusal::kNotUnique) {
    return refuse(409, concat(token.user, " has a token of that name: choose another name"));
  }
  if (why == Refusal::kNoRoom) return refuse_for_room();
  return refuse(409, concat("there are ", kTokensOfUserMax, " tokens of ", token.user, ", or ",
                            kTokensMax, " in all: revoke one"));
}

}  // namespace

const Token* use_token(Site& site, std::string_view hash, Time now) {
  const View& view = site.broker.view();
  const Token* const token = view.tokens().find(hash);
  if (token == nullptr || token->has_expired(view.wall_clock().shown(now))) return nullptr;
  // Those of revoked tokens were left.
  if (site.token_uses.size() > 2 * kTokensMax) site.token_uses.clear();
  site.token_uses.insert_or_assign(token->hash, now);
  return token;
}

access::Grant grant_of(const Token& token) {
  return {.queues = token.queues, .may = access::Rights::from_bits(token.may)};
}

Response refuse_token() {
  Response response = refuse(401, kWrongToken);
  response.is_wrong_login = true;
  return response;
}

Response list_tokens(const Call& call) {
  std::vector<const Token*> seen;
  call.site.broker.view().tokens().each([&](const Token& token) {
    if (is_token_seen(token, call.request.caller)) seen.push_back(&token);
  });
  std::ranges::sort(seen, {}, [](const Token* each) { return std::tie(each->user, each->name); });
  Json tokens = Json::array();
  for (const Token* const each : seen) tokens.push_back(show_token(*each, call));
  return {.body = dump({{"tokens", std::move(tokens)}})};
}

Response make_token(const Call& call) {
  const access::Caller& caller = call.request.caller;
  Outcome<Token> token = read_token(call.request.members);
  if (!token) return refuse(400, token.error().text);
  const Json seconds = call.request.members.value("expires_s", Json());
  if (!seconds.is_number_unsigned() || seconds < kTokenSecondsMin || seconds > kTokenSecondsMax) {
    return refuse(400, concat("expires_s is not a whole number from ", kTokenSecondsMin, " to ",
                              kTokenSecondsMax));
  }
  if (auto refused = refuse_rights_of(*token, caller)) return *std::move(refused);
  const NewSecret secret = call.site.draw_secret();
  token->hash = secret.hash;
  token->user = caller.name();
  token->made_at = call.site.broker.view().wall_clock().shown(call.moment.now);
  token->expires_at = token->made_at + std::chrono::seconds(seconds.get<std::uint64_t>());
  const auto added = call.site.broker.admin().add_token(*token, call.moment.now);
  if (!added) return refuse_new_token(added.error(), *token);
  Json shown = {{"token", secret.text}};
  shown.update(show_token(*token, call));
  return {.status = 201, .body = dump(shown), .is_change = true, .changed = describe_token(*token)};
}

Response revoke_token(const Call& call) {
  const Token* const token = call.site.broker.view().tokens().find_by_id(call.name);
  if (token == nullptr || !is_token_seen(*token, call.request.caller)) {
    return refuse(404, "there is no such token");
  }
  const std::string hash = token->hash;
  Response response{.body = dump(show_token(*token, call)),
                    .is_change = true,
                    .changed = concat(token->name, " of ", token->user)};
  call.site.token_uses.erase(hash);
  const auto removed = call.site.broker.admin().remove_token(hash);
  CHECK(removed);
  return response;
}

}  // namespace millrace::http
