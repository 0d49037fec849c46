#include "faktory/object_reader.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "faktory/text.hpp"

namespace millrace::faktory {
namespace {

/// Listens to the parser. Members of the outer object are at depth 1, the entries of their lists at
/// depth 2; what lies deeper makes its member one of kind kOther.
class Listener final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Listener(const MemberVisitor& visit) : visit_(visit) {}

  [[nodiscard]] ObjectShape shape() const { return shape_; }

  bool null() override {
    if (depth_ == 0) shape_ = ObjectShape::kNull;
    return scalar(MemberValue::Kind::kNull);
  }
  bool boolean(bool) override { return scalar(MemberValue::Kind::kOther); }
  bool number_integer(std::int64_t value) override {
    if (depth_ == 1) value_.integer = value;
    return scalar(MemberValue::Kind::kInteger);
  }
  bool number_unsigned(std::uint64_t value) override {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return scalar(MemberValue::Kind::kOther);
    }
    return number_integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double, const std::string&) override {
    return scalar(MemberValue::Kind::kOther);
  }
  bool string(std::string& value) override {
    if (depth_ == 1) value_.string = std::move(value);
    if (depth_ == 2 && value_.strings.size() < kListEntriesMax) {
      value_.strings.push_back(std::move(value));
    }
    return scalar(MemberValue::Kind::kString);
  }
  bool binary(nlohmann::json::binary_t&) override { return false; }

  bool start_object(std::size_t) override {
    if (depth_ == 0) shape_ = ObjectShape::kObject;
    value_.kind = MemberValue::Kind::kOther;
    return ++depth_ <= kNestingMax;
  }
  bool end_object() override { return end_container(); }
  bool start_array(std::size_t) override {
    value_.kind = depth_ == 1 ? MemberValue::Kind::kStringList : MemberValue::Kind::kOther;
    return ++depth_ <= kNestingMax;
  }
  bool end_array() override { return end_container(); }
  bool key(std::string& name) override {
    if (depth_ == 1) {
      name_ = std::move(name);
      value_ = MemberValue{};
    }
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  bool scalar(MemberValue::Kind kind) {
    if (depth_ == 1) return finish(kind);
    if (depth_ != 2) return true;
    if (kind == MemberValue::Kind::kNull) {
      if (value_.strings.size() < kListEntriesMax) value_.strings.emplace_back();
    } else if (kind != MemberValue::Kind::kString) {
      value_.kind = MemberValue::Kind::kOther;
    }
    return true;
  }

  bool end_container() { return --depth_ != 1 || finish(value_.kind); }

  bool finish(MemberValue::Kind kind) {
    if (shape_ != ObjectShape::kObject) return true;
    value_.kind = kind;
    return visit_(name_, value_);
  }

  const MemberVisitor& visit_;
  ObjectShape shape_ = ObjectShape::kMalformed;
  std::size_t depth_ = 0;
  std::string name_;
  MemberValue value_;
};

}  // namespace

bool take_text(const MemberValue& value, std::string& field) {
  if (value.kind == MemberValue::Kind::kNull) return true;
  if (value.kind != MemberValue::Kind::kString) return false;
  field = value.string;
  return true;
}

bool take_integer(const MemberValue& value, std::int64_t& field) {
  if (value.kind == MemberValue::Kind::kNull) return true;
  if (value.kind != MemberValue::Kind::kInteger) return false;
  field = value.integer;
  return true;
}

bool take_strings(const MemberValue& value, std::vector<std::string>& field) {
  if (value.kind != MemberValue::Kind::kStringList && value.kind != MemberValue::Kind::kNull) {
    return false;
  }
  field = value.strings;
  return true;
}

ObjectShape read_object(std::string_view json, const MemberVisitor& visit) {
  const std::optional<std::string> repaired = repaired_json(json);
  if (repaired) json = *repaired;
  Listener listener(visit);
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &listener)) {
    return ObjectShape::kMalformed;
  }
  return listener.shape();
}

}  // namespace millrace::faktory
