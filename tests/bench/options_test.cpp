#include "options.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench::test {

Options read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "load");
  return read_options(static_cast<int>(arguments.size()), arguments.data());
}

/// What is said; empty: it is not refused.
std::string refusal_of(const std::vector<const char*>& arguments) {
  try {
    read(arguments);
    return {};
  } catch (const std::invalid_argument& refusal) {
    return refusal.what();
  }
}

void check_number(const char* option, std::initializer_list<const char*> taken,
                  std::initializer_list<const char*> refused) {
  CAPTURE(option);
  for (const char* value : taken) CHECK(refusal_of({option, value}) == "");
  for (const char* value : refused) CHECK(refusal_of({option, value}) != "");
  const std::string digits(300, '9');
  for (const char* value : {digits.c_str(), "x", "", "1 2"}) {
    CHECK(refusal_of({option, value}) != "");
  }
}

TEST_CASE("options: a plan is read") {
  const Options options = read({"--work", "put:2,put-cycle", "--queues", "4", "--seconds", "0.5",
                                "--rate", "2000", "--body-bytes", "1,2", "--drain"});
  CHECK(options.help.empty());
  CHECK(options.works == "put:2,put-cycle");
  CHECK(options.plan.works.size() == 3);
  CHECK(options.plan.queues == 4);
  CHECK(options.plan.seconds == 0.5);
  CHECK(options.plan.rate == 2000);
  CHECK(options.plan.body_bytes == std::vector<std::size_t>{1, 2});
  CHECK(options.plan.is_draining);
}

TEST_CASE("options: help says the limits") {
  CHECK(read({"--help"}).help.find("1 - 65535") != std::string::npos);
}

TEST_CASE("options: what is at a limit is taken, and one past it is not") {
  check_number("--port", {"1", "65535"}, {"0", "65536", "-1"});
  check_number("--connections", {"1", "65535"}, {"0", "65536", "-1"});
  check_number("--operations", {"1", "1000000000"}, {"0", "1000000001", "1.5"});
  check_number("--seconds", {"0", "0.1", "1000000"}, {"-0.1", "1000000.1", "nan", "inf"});
  check_number("--depth", {"1", "10000"}, {"0", "10001"});
  check_number("--queues", {"1", "50"}, {"0", "51", "65536"});
  check_number("--rate", {"0", "10000000"}, {"-1", "10000001", "nan", "1e-9"});
  check_number("--delay", {"0", "2147483647"}, {"-1", "2147483648"});
  check_number("--server-pid", {"0", "4194304"}, {"-1", "4194305"});
}

TEST_CASE("options: a refusal is one line that names the option") {
  const std::string refusal = refusal_of({"--depth", "0"});
  CHECK(refusal == "--depth: Value 0 not in range 1 to 10000");
  CHECK(refusal_of({"--work", "foo"}) == "no such work: foo");
  for (const auto& arguments : std::vector<std::vector<const char*>>{
           {"--no-such-option"}, {"put"}, {"--depth"}, {"--depth", "1", "--depth", "2"}}) {
    const std::string said = refusal_of(arguments);
    CHECK(said != "");
    CHECK(std::count(said.begin(), said.end(), '\n') == 0);
  }
}

}  // namespace bench::test
