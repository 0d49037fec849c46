#include "server/role/role.hpp"

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

using enum Role::Name;

constexpr Epoch kSome{7};

}  // namespace

TEST_CASE("role: a server reads, follows, serves and stops") {
  Role role;
  CHECK(role.name() == kReplaying);
  CHECK_FALSE(role.epoch());
  role.has_replayed();
  CHECK(role.name() == kStandby);
  CHECK_FALSE(role.admits_clients());
  CHECK_FALSE(role.epoch());
  role.lead(kSome);
  CHECK(role.name() == kServing);
  CHECK(role.admits_clients());
  CHECK(role.epoch() == kSome);
  role.stop();
  CHECK(role.name() == kStopping);
  CHECK_FALSE(role.admits_clients());
  // Its last clients are still answered.
  CHECK(role.epoch() == kSome);
}

TEST_CASE("role: the table has these moves and no others") {
  struct Move {
    Role::Name from;
    Role::Name to;
  };
  constexpr Move kMoves[] = {
      {kReplaying, kStandby}, {kStandby, kServing},  {kReplaying, kStopping},
      {kStandby, kStopping},  {kServing, kStopping},
  };
  for (const Role::Name from : {kReplaying, kStandby, kServing, kStopping}) {
    for (const Role::Name to : {kReplaying, kStandby, kServing, kStopping}) {
      const bool is_listed = std::any_of(std::begin(kMoves), std::end(kMoves), [&](const Move& m) {
        return m.from == from && m.to == to;
      });
      CAPTURE(static_cast<int>(from));
      CAPTURE(static_cast<int>(to));
      CHECK(Role::can_move(from, to) == is_listed);
    }
  }
}

}  // namespace millrace::server
