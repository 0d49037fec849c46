#include <functional>
#include <string>

#include "server/turn/turn.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

struct Named {
  std::string name;
};

struct Three {
  Named a{"a"};
  Named b{"b"};
  Named c{"c"};
  CallList<Named> list;
  std::string called;

  Three() {
    for (Named* each : {&a, &b, &c}) list.add(*each);
  }
  std::string call(const std::function<void(Named&)>& then = {}) {
    called.clear();
    list.call_each([&](Named& each) {
      called += each.name;
      if (then) then(each);
    });
    return called;
  }
};

}  // namespace

TEST_CASE("call list: members are called in order") {
  CHECK(Three().call() == "abc");
}

TEST_CASE("call list: who was removed is not called, whoever removes it and when") {
  Three three;
  three.list.remove(three.b);
  CHECK(three.call() == "ac");
  CHECK(three.call([&](Named& each) { three.list.remove(each); }) == "ac");
  CHECK(three.call().empty());
  Three others;
  CHECK(others.call([&](Named& each) {
    if (each.name == "a") others.list.remove(others.b);
  }) == "ac");
}

TEST_CASE("call list: members that are added during the calls wait for the next ones") {
  Three three;
  Named d{"d"};
  CHECK(three.call([&](Named& each) {
    if (each.name == "a") three.list.add(d);
  }) == "abc");
  CHECK(three.call() == "abcd");
}

}  // namespace millrace::server
