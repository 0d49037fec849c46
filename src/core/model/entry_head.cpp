#include "core/model/entry_head.hpp"

#include "base/varint.hpp"

namespace millrace {
namespace {

void append_text(std::string_view text, std::string& out) {
  append_varint(text.size(), out);
  out.append(text);
}

/// Takes values off the front. After the first that does not fit, all are zero.
class HeadReader {
 public:
  explicit HeadReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    if (!is_good_) return 0;
    const std::optional<std::uint64_t> value = take_varint(bytes_);
    is_good_ = value.has_value();
    return value.value_or(0);
  }

  std::uint8_t byte() {
    is_good_ = is_good_ && !bytes_.empty();
    if (!is_good_) return 0;
    const auto value = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }

  std::string text() {
    const std::uint64_t size = number();
    is_good_ = is_good_ && size <= kHeadTextBytesMax && size <= bytes_.size();
    if (!is_good_) return {};
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return value;
  }

  [[nodiscard]] bool is_good() const { return is_good_; }
  [[nodiscard]] std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
  bool is_good_ = true;
};

}  // namespace

std::string encode(const EntryHead& head) {
  std::string out;
  out.push_back(static_cast<char>(EntryHead::kTag));
  out.push_back(static_cast<char>(head.kind));
  append_varint(head.log, out);
  append_varint(head.sequence, out);
  append_varint(head.epoch, out);
  append_varint(zigzag(head.at.time_since_epoch().count()), out);
  append_varint(head.writer, out);
  append_varint(head.lease_ms, out);
  append_text(head.node, out);
  append_text(head.notes, out);
  return out;
}

Outcome<std::optional<EntryHead>> take_head(std::string_view& entry) {
  HeadReader reader(entry);
  if (reader.byte() != EntryHead::kTag) return std::optional<EntryHead>();
  EntryHead head;
  const std::uint8_t kind = reader.byte();
  head.kind = static_cast<EntryHead::Kind>(kind);
  head.log = reader.number();
  head.sequence = reader.number();
  head.epoch = reader.number();
  head.at = Time{Duration{unzigzag(reader.number())}};
  head.writer = reader.number();
  head.lease_ms = reader.number();
  head.node = reader.text();
  head.notes = reader.text();
  if (!reader.is_good()) return Problem{"the head of an entry is damaged"};
  if (kind > static_cast<std::uint8_t>(EntryHead::Kind::kHold)) {
    return Problem{"an entry of a kind that this version does not know"};
  }
  entry = reader.rest();
  return std::optional(std::move(head));
}

}  // namespace millrace
