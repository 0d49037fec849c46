#include "beanstalk/service.hpp"

#include <string>

#include "faktory/job/work_unit.hpp"
#include "support/doctest.hpp"

namespace millrace::beanstalk {
namespace {

struct Served {
  Time now{std::chrono::seconds{1'700'000'000}};
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {.random_seed = 1}};
  Service service{broker, format, {.job_bytes_max = 10}, now};

  /// What a client that connects now is answered.
  std::string ask(std::string_view bytes) {
    const auto session = service.open(access::Caller::everybody());
    session->start(now);
    session->receive(bytes, now);
    std::string said = session->output();
    session->close(now);
    return said;
  }
};

}  // namespace

TEST_CASE("service: a body at the limit is taken, one past it is not, and the limit can change") {
  Served served;
  CHECK(served.ask("put 0 0 1 10\r\n0123456789\r\n") == "INSERTED 1\r\n");
  CHECK(served.ask("put 0 0 1 11\r\n0123456789a\r\n") == "JOB_TOO_BIG\r\n");
  served.service.set_job_bytes_max(11);
  CHECK(served.ask("put 0 0 1 11\r\n0123456789a\r\n") == "INSERTED 2\r\n");
}

TEST_CASE("service: draining refuses puts and serves the rest") {
  Served served;
  served.service.drain();
  CHECK(served.ask("put 0 0 1 1\r\na\r\n") == "DRAINING\r\n");
  CHECK(served.ask("use a\r\n") == "USING a\r\n");
}

}  // namespace millrace::beanstalk
