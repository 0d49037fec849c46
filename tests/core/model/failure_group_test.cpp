#include "core/model/failure_group.hpp"

#include <string>
#include <vector>

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("failure group: what differs from one job to the next is #") {
  struct Row {
    const char* message;
    const char* normalized;
  };
  const Row rows[] = {
      {"job 17 at 0xdeadbeef01 took 3.5 s", "job # at # took # s"},
      {"no user 3f2504e0-4f89-41d3-9a0c-0305e82c3301 here", "no user # here"},
      {"id=3f2504e0-4f89-41d3-9a0c-0305e82c3301.", "id=#."},
      {"3f2504e0-4f89-41d3-9a0c", "#"},
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
      {"connect to 10.0.0.7:5432 or fe80::1 failed", "connect to #:# or # failed"},
      {"connect to [2001:db8::1]:443 or [2001:db8::] failed", "connect to #:# or # failed"},
      {"no route to fe80::1:2%eth0, ::1 or 2001:db8::", "no route to #, # or #"},
      {"GET http://[2001:db8::1]:80/users/anna: 500", "GET #: #"},
      {"GET http://[::1]/a, again", "GET #, again"},
      {"no object {6BA7B810-9DAD-11D1-80B4-00C04FD430C8} here", "no object # here"},
      {"no object 6BA7B810-9DAD-11D1-80B4-00C04FD430C8 here", "no object # here"},
      {"[worker] {job} [] {", "[worker] {job} [] {"},
      {"user o'neil@example.com or zoë@example.com", "user # or #"},
      {"customer 'O'Neil' not found", "customer # not found"},
      {"bad name \"Bob \\\"the\\\" Builder\" in row", "bad name # in row"},
      {"Datei „a b“ fehlt", "Datei # fehlt"},
      {"read 1,024 bytes in 1m2.5s, balance -5.", "read # bytes in #, balance #."},
      {"commit a1b2c3d, charge ch_3MmlLrLk, opcode 0xff", "commit #, charge #, opcode #"},
      {"No such file @ rb_sysopen - /srv/up/John Q Smith.jpg", "No such file @ rb_sysopen - #"},
      {"cannot open /srv/data for writing", "cannot open # for writing"},
      {"订单12345不存在", "订单#不存在"},
      {"余额不足100元", "余额不足#元"},
      {"--- 3 ---", "--- # ---"},
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

TEST_CASE("failure group: a quoted text that is cut off is one, too") {
  const std::string rest(300, 'x');
  CHECK(normalized_message("unexpected token at '<html>Ann " + rest + "'") ==
        "unexpected token at #");
}

TEST_CASE("failure group: a hostile message takes no longer than others") {
  // Linear: a quadratic walk over 300 bytes, ten thousand times, would take seconds.
  for (const std::string piece : {"-", ",.", " 'a", "\"", "a'", ": /", "x="}) {
    std::string message;
    while (message.size() < 300) message += piece;
    for (int i = 0; i < 100; ++i) CHECK(normalized_message(message).size() <= 301);
  }
}

TEST_CASE("failure group: what is no frame is passed over, in backtraces of all languages") {
  struct Row {
    const char* message;
    std::vector<std::string> backtrace;
    const char* frame;
  };
  const Row rows[] = {
      {"connect to 10.0.0.1:80 failed",
       {"Error: connect to 10.0.0.1:80 failed", "    at node:net:12:3",
        "    at charge (/app/jobs/charge.js:10:5)"},
       "    at charge (/app/jobs/charge.js:#:#)"},
      {"x",
       {"Traceback (most recent call last):", "  File \"/app/run.py\", line 3, in main",
        "    retry(3)[1:2]", "  File \"/app/a.py\", line 7, in f", "    int(x)",
        "  File \"/usr/local/lib/python3.11/enum.py\", line 714, in __call__"},
       "  File \"/app/a.py\", line #, in f"},
      {"x",
       {"java.lang.Integer.parseInt(Integer.java:652)", "\tat com.acme.B.go(B.java:9)"},
       "\tat com.acme.B.go(B.java:#)"},
      {"x",
       {"panic(0x6b4a80, 0xc00001)", "\t/usr/local/go/src/runtime/panic.go:884 +0x213",
        "main.perform({0x7a, 0xc0001})", "\t/app/main.go:12 +0x1d"},
       "\t/app/main.go:# +#"},
      {"x", {"#0 /app/vendor/x.php(12): y()", "#1 /app/z.php(3): w()"}, "/app/z.php(#): w()"},
      {"x",
       {"0: rust_begin_unwind at /rustc/a1b2c3d4/library/std/src/panicking.rs:645",
        "1: app::mail::send at ./src/mail.rs:12"},
       "#: app::mail::send at ./src/mail.rs:#"},
      {"x",
       {"(elixir 1.14.0) lib/enum.ex:975: Enum.map/2", "(app 0.1.0) lib/app/mail.ex:7: App.run/1"},
       "(app #.#.#) lib/app/mail.ex:#: App.run/#"},
      {"x",
       {"Traceback (most recent call last):\n  File \"/app/a.py\", line 3, in f\n    int(x)\n"},
       "  File \"/app/a.py\", line #, in f"},
      {"x", {"no place at all"}, ""},
  };
  for (const Row& row : rows) {
    Failure failure;
    failure.message = row.message;
    failure.backtrace = row.backtrace;
    CHECK(normalized_frame(failure) == std::string(row.frame));
  }
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

}  // namespace millrace
