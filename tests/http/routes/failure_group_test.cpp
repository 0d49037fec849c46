#include "http/routes/failure_group.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("failure group: what differs from one job to the next is #") {
  struct Row {
    const char* message;
    const char* normalized;
  };
  const Row rows[] = {
      {"job 17 at 0xdeadbeef01 took 3.5 s", "job # at #x# took #.# s"},
      {"no user 3f2504e0-4f89-41d3-9a0c-0305e82c3301 here", "no user # here"},
      {"id=3f2504e0-4f89-41d3-9a0c-0305e82c3301.", "id=#."},
      {"3f2504e0-4f89-41d3-9a0c", "#-#f#-#d#-#a#c"},
      {"undefined method `save!' for nil", "undefined method # for nil"},
      {"cannot find \"Jane Doe\" or 'x y'", "cannot find # or #"},
      {"can't open what isn't there", "can't open what isn't there"},
      {"an open \" stays", "an open \" stays"},
      {"no «Größe» and “so”", "no # and #"},
      {"mail to jane.doe+a@mail.example.com: refused", "mail to #: refused"},
      {"to=<jane@example.com>", "to=<#>"},
      {"GET https://api.example.com/v1/users/ab?x=1: 500", "GET #: #"},
      {"No such file: /srv/data/a b", "No such file: # b"},
      {"open ./tmp/x, ~/y and C:\\temp\\z", "open #, # and #"},
      {"app/models/user.rb is and/or n/a", "# is and/or n/a"},
      {"connect to 10.0.0.7:5432 or fe80::1 failed", "connect to #.#.#.#:# or # failed"},
      {"", ""},
      {"/", "/"},
      {"\xff\xfe 1", "\xff\xfe #"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    CHECK(normalized_message(row.message) == row.normalized);
  }
}

TEST_CASE("failure group: what comes late in a long message does not count") {
  const std::string begin(300, 'x');
  CHECK(normalized_message(begin + "one") == normalized_message(begin + "another"));
  CHECK(normalized_message(std::string(299, 'x') + "ë") == std::string(299, 'x'));
}

TEST_CASE("failure group: the frame is the first that is not of a library") {
  Failure failure;
  CHECK(normalized_frame(failure) == "");
  failure.backtrace = {"/usr/lib/ruby/net/http.rb:960:in `connect'",
                       "/bundle/gems/faraday-2.7/lib/faraday.rb:12:in `call'",
                       "app/jobs/sync.rb:31:in `perform'", "app/jobs/base.rb:5:in `run'"};
  CHECK(normalized_frame(failure) == "app/jobs/sync.rb:#:in `perform'");
  failure.backtrace.resize(2);
  CHECK(normalized_frame(failure) == "/usr/lib/ruby/net/http.rb:#:in `connect'");
}

TEST_CASE("failure group: one error of many jobs is one group, another place is another group") {
  const auto group_of = [](const std::string& message, const std::string& frame) {
    Failure failure;
    failure.errtype = "NotFound";
    failure.message = message;
    failure.backtrace = {frame};
    return failure_group(failure);
  };
  const std::string first =
      group_of("order 3f2504e0-4f89-41d3-9a0c-0305e82c3301 of 'Jane'", "app/sync.rb:31");
  CHECK(first ==
        group_of("order ffffffff-0000-1111-2222-0305e82c3302 of 'John D.'", "app/sync.rb:32"));
  CHECK(first !=
        group_of("order 3f2504e0-4f89-41d3-9a0c-0305e82c3301 of 'Jane'", "app/mail.rb:31"));
}

}  // namespace millrace::http
