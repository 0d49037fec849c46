#include "core/state/features/saved_views.hpp"

#include <variant>

#include "core/broker_fixture.hpp"
#include "core/model/codec.hpp"
#include "support/doctest.hpp"

namespace millrace {
namespace {

TEST_CASE("saved views: one is there until it is removed, and has its last query") {
  SavedViews views;
  views.apply({.name = "b", .query = "state:dead"});
  views.apply({.name = "a", .query = "queue:mail"});
  views.apply({.name = "b", .query = "state:ready"});
  CHECK(views.find("b") == "state:ready");
  CHECK(views.find("c").empty());
  std::string names;
  views.each([&names](const ViewSaved& view) { names += view.name; });
  CHECK(names == "ab");
  views.apply({.name = "b", .query = {}});
  views.apply({.name = "b", .query = {}});
  CHECK(views.find("b").empty());
  CHECK(views.count() == 1);
}

TEST_CASE("saved views: the newest record of each is live, and is written once more") {
  SavedViews views;
  views.apply({.name = "a", .query = "1"});
  views.place(100);
  views.apply({.name = "b", .query = "2"});
  views.place(200);
  views.apply({.name = "a", .query = "3"});
  views.place(300);
  CHECK(views.oldest_place() == Lsn{200});
  std::string batch;
  views.rewrite_oldest(batch);
  views.place(400);
  CHECK(views.oldest_place() == Lsn{300});
  CHECK(views.live_bytes() == 2 * batch.size());
  std::string_view rest = batch;
  CHECK((std::get<ViewSaved>(*decode(rest)) == ViewSaved{.name = "b", .query = "2"}));
}

TEST_CASE("saved views: there are at most 100, and one is removed also while nothing may grow") {
  test::BrokerFixture fixture;
  AdminOperations& admin = fixture.broker.admin();
  for (std::size_t i = 0; i < SavedViews::kCountMax; ++i) {
    CHECK(admin.save_view("view " + std::to_string(i), "state:dead"));
  }
  CHECK(admin.save_view("one more", "state:dead").error() == Refusal::kTooMany);
  CHECK(admin.save_view("view 7", "state:ready"));
  CHECK(admin.save_view("one more", "").error() == Refusal::kNotFound);
  fixture.broker.set_admission(Admission::kEndingsOnly);
  CHECK(admin.save_view("view 7", "state:dead").error() == Refusal::kNoRoom);
  CHECK(admin.save_view("view 8", ""));
  CHECK(fixture.broker.view().saved_views().count() == SavedViews::kCountMax - 1);
}

}  // namespace
}  // namespace millrace
