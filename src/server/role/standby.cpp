#include "server/role/standby.hpp"

#include <optional>
#include <string_view>

#include "base/check.hpp"

namespace millrace::server {

Outcome<bool> Standby::follow() {
  const Outcome<std::optional<Lsn>> followed =
      journal_.follow(applied_, [&](std::string_view batch, Lsn begin) {
        CHECK(begin >= applied_);
        return ledger_.replay(batch, begin);
      });
  if (!followed) return followed.error();
  if (!*followed) return false;
  CHECK(**followed >= applied_);
  applied_ = **followed;
  return true;
}

}  // namespace millrace::server
