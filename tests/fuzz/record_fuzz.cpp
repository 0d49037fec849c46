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

void replay(std::string_view batch) {
  millrace::Store store;
  while (!batch.empty()) {
    millrace::Outcome<millrace::Record> record = millrace::decode(batch);
    if (!record) return;
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
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  replay({reinterpret_cast<const char*>(data), size});
  return 0;
}
