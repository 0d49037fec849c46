// Batches of any bytes: replaying one either works or names its problem, and what was read can be
// written and read again to the same.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/check.hpp"
#include "core/model/codec.hpp"
#include "core/state/store.hpp"

namespace {

struct NoFormat final : millrace::WorkUnitFormat {
  [[nodiscard]] Identity identify(const millrace::Job&) const override { return {}; }
  void render(const millrace::Job&, std::string_view, millrace::WallClock,
              std::string&) const override {}
};

/// Those that are told are there, each once.
void look_at(const millrace::FinishedJobs& finished) {
  std::size_t seen = 0;
  std::uint64_t before = finished.end();
  finished.each_before(before, {}, [&](std::uint64_t number, const millrace::FinishedJob& job) {
    CHECK(number < before && job.id != 0);
    before = number;
    return ++seen > 0;
  });
  CHECK(seen <= finished.size());
  finished.each_named(1, 1, {}, [](const millrace::FinishedJob&) {});
}

void replay(std::string_view batch) {
  static const NoFormat kFormat;
  millrace::Store store;
  store.finished().begin(kFormat, {.jobs_max = 5, .is_durable = true});
  while (!batch.empty()) {
    millrace::Outcome<millrace::Record> record = millrace::decode(batch);
    if (!record) return look_at(store.finished());
    std::string again;
    millrace::encode(*record, again);
    std::string_view rest = again;
    const auto copy = millrace::decode(rest);
    CHECK(copy.has_value() && rest.empty() && *copy == *record);
    const auto bytes_of = [](const auto& kind) { return millrace::encoded_bytes(kind); };
    CHECK(std::visit(bytes_of, *record) == again.size());
    // As a batch does: a body has a byte before it.
    if (auto* added = std::get_if<millrace::JobAdded>(&*record)) added->body_at = 1;
    store.apply(std::move(*record));
  }
  look_at(store.finished());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  replay({reinterpret_cast<const char*>(data), size});
  return 0;
}
