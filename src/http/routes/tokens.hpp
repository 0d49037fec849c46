#pragma once

#include <optional>
#include <string_view>

#include "access/users.hpp"
#include "core/broker/view.hpp"
#include "http/kit/message.hpp"
#include "http/routes/site.hpp"

/// Tokens by which programs use the API for a user.
namespace millrace::http {

/// The token with that hash, which is used now. Null: there is none, or it has expired.
[[nodiscard]] const Token* use_token(Site& site, std::string_view hash, Time now);

/// What it may do at most; its user may do less.
[[nodiscard]] access::Grant grant_of(const Token& token);

/// 401, for a request by a token that is not valid.
[[nodiscard]] Response refuse_token();

}  // namespace millrace::http
