#include "server/role/role.hpp"

#include "base/check.hpp"

namespace millrace::server {

void Role::lead(Epoch epoch) {
  move_to(Name::kServing);
  epoch_ = epoch;
}

void Role::move_to(Name name) {
  CHECK(can_move(name_, name));
  name_ = name;
}

}  // namespace millrace::server
