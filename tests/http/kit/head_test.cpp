#include "http/kit/head.hpp"

#include <string>

#include "http/kit/text.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

std::string ambiguity_in(const std::string& headers) {
  const auto problem = find_ambiguity("GET / HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n");
  return problem ? problem->text : "";
}

TEST_CASE("head: the first line has one space between method, target and version") {
  const auto problem_of = [](const std::string& line) {
    const auto problem = find_ambiguity(line + "\r\nHost: a\r\n\r\n");
    return problem ? problem->text : "";
  };
  const std::string no_line = "the request line is malformed";
  CHECK(problem_of("GET /a?b=%20c HTTP/1.1") == "");
  CHECK(problem_of("OPTIONS * HTTP/1.0") == "");
  for (const char* const line :
       {"GET  / HTTP/1.1",    "GET /  HTTP/1.1",   "GET / HTTP/1.1 ",        " GET / HTTP/1.1",
        "GET HTTP/1.1",       "GET /a b HTTP/1.1", "GET /a\vb HTTP/1.1",     "GET /a\tb HTTP/1.1",
        "GET /\x7F HTTP/1.1", "G\x01T / HTTP/1.1", "GET http://a/ HTTP/1.1", "GET /\xFF HTTP/1.1",
        "GET /<b> HTTP/1.1",  "GET /\" HTTP/1.1",  "GET /#a HTTP/1.1",       "GET a HTTP/1.1",
        "GET / HTTX/1.1",     "GET / HTTP/9.9",    "GET / HTTP/1.1.1",       ""}) {
    CAPTURE(line);
    CHECK(problem_of(line) == no_line);
  }
}

}  // namespace

TEST_CASE("head: one that everybody reads alike passes") {
  CHECK(ambiguity_in("") == "");
  CHECK(ambiguity_in("Accept: a\r\nAccept: b\r\nContent-Length: 1\r\n") == "");
}

TEST_CASE("head: a header that decides is there once") {
  CHECK(ambiguity_in("Content-Length: 1\r\ncontent-length: 1\r\n") ==
        "the head has two content-length headers");
  CHECK(ambiguity_in("HOST: b\r\n") == "the head has two host headers");
  for (const std::string name :
       {"authorization", "content-type", "origin", "sec-fetch-site", "x-instance",
        "x-requested-with", kReportHeader, kSignatureHeader}) {
    CAPTURE(name);
    CHECK(ambiguity_in(name + ": a\r\n") == "");
    CHECK(ambiguity_in(name + ": a\r\n" + name + ": a\r\n") ==
          "the head has two " + name + " headers");
  }
  CHECK(ambiguity_in("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n") ==
        "the head has both a Content-Length and a Transfer-Encoding");
}

TEST_CASE("head: a length is digits, whatever the method") {
  for (const char* const length : {"", " ", "+5", "-5", "0x5", "5, 5", "5,5", "5 5", "5.0", "a"}) {
    CAPTURE(length);
    CHECK(ambiguity_in(concat("Content-Length:", length, "\r\n")) ==
          "Content-Length is not a number");
  }
  CHECK(ambiguity_in("Content-Length: \t5 \r\n") == "");
  CHECK(ambiguity_in("Content-Length:005\r\n") == "");
}

TEST_CASE("head: lines that readers take differently are refused") {
  const std::string no_header = "the head has a line that is not a header";
  CHECK(ambiguity_in("Content-Length : 1\r\n") == no_header);
  CHECK(ambiguity_in("A: b\r\n continued\r\n") == no_header);
  CHECK(ambiguity_in("A: b\rContent-Length: 1\r\n") == no_header);
  CHECK(ambiguity_in(": b\r\n") == no_header);
}

TEST_CASE("head: only OPTIONS asks about the whole server") {
  CHECK_FALSE(find_ambiguity("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"));
  CHECK(find_ambiguity("GET * HTTP/1.1\r\nHost: a\r\n\r\n"));
}

TEST_CASE("head: it ends with its empty line") {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  CHECK(head_bytes(head) == head.size());
  CHECK(head_bytes(head + "GET /") == head.size());
  CHECK(head_bytes("\r\n" + head) == head.size() + 2);
  CHECK(head_bytes("\n" + head) == head.size() + 1);
  CHECK_FALSE(head_bytes(head.substr(0, head.size() - 1)));
  CHECK_FALSE(head_bytes(""));
  CHECK_FALSE(head_bytes("\r\n"));
  CHECK(head_bytes("\r\n\r\n" + head) == 4);
}

TEST_CASE("head: lines end with LF alone where the first one does") {
  CHECK(head_bytes("GET / HTTP/1.1\nHost: a\n\nX") == 24);
  CHECK(head_bytes("GET / HTTP/1.1\nHost: a\r\n\r\n") == 26);
  CHECK(plain_head("\nGET / HTTP/1.1\nHost: a\n\n") == "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
}

TEST_CASE("head: it ends at the first empty line, however lines end; mixed ends are refused") {
  const std::string start = "GET / HTTP/1.1\r\nHost: a";
  for (const char* const end : {"\r\n\n", "\n\r\n", "\n\n"}) {
    CAPTURE(end);
    const std::string head = start + end;
    CHECK(head_bytes(head + "GET / HTTP/1.1\r\n\r\n") == head.size());
    CHECK(find_ambiguity(plain_head(head)));
    CHECK_FALSE(head_bytes(head.substr(0, head.size() - 1)));
  }
  CHECK(find_ambiguity(plain_head(start + "\r\nX: a\nY: b\r\n\r\n")));
}

TEST_CASE("head: a later HTTP/1 is taken for 1.1, and no other version is") {
  const auto plain = [](const std::string& version) {
    return plain_head("GET / " + version + "\r\nHost: a\r\n\r\n").substr(6, version.size());
  };
  CHECK(plain("HTTP/1.2") == "HTTP/1.1");
  CHECK(plain("HTTP/1.9") == "HTTP/1.1");
  CHECK(find_ambiguity(plain_head("GET / HTTP/1.2\r\n\r\n"))->text == "the head has no Host");
  for (const char* const same :
       {"HTTP/1.0", "HTTP/1.1", "HTTP/2.0", "HTTP/1.10", "HTTP/1.x", "HTTX/1.2"}) {
    CAPTURE(same);
    CHECK(plain(same) == same);
  }
  CHECK(is_of_other_version("PRI * HTTP/2.0\r\n\r\n"));
  CHECK(is_of_other_version("GET / HTTP/0.9"));
  for (const char* const line : {"GET / HTTP/1.1", "GET / HTTP/2", "GET / http/2.0", "GET /", ""}) {
    CAPTURE(line);
    CHECK_FALSE(is_of_other_version(line));
  }
}

TEST_CASE("head: a host in the target replaces the header's") {
  const auto plain = [](const std::string& target, const std::string& headers) {
    return plain_head("GET " + target + " HTTP/1.1\r\n" + headers + "\r\n");
  };
  CHECK(plain("http://b:7420/a?q=/", "A: 1\r\nHOST: c\r\nB: 2\r\n") ==
        "GET /a?q=/ HTTP/1.1\r\nHost: b:7420\r\nA: 1\r\nB: 2\r\n\r\n");
  CHECK(plain("HTTPS://b", "") == "GET / HTTP/1.1\r\nHost: b\r\n\r\n");
  CHECK(plain("http://b?q", "") == "GET /?q HTTP/1.1\r\nHost: b\r\n\r\n");
  const std::string twice = plain("http://b/", "Host: c\r\nHost: d\r\n");
  CHECK(find_ambiguity(twice)->text == "the head has two host headers");
}

TEST_CASE("head: other targets stay, and are refused where they are none") {
  for (const char* const target : {"/a", "/http://b/", "*", "http://", "http:///a", "http://u@b/",
                                   "ftp://b/", "b:443", "httpx://b/"}) {
    CAPTURE(target);
    const std::string head = "GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n";
    CHECK(plain_head(head) == head);
    CHECK(find_ambiguity(head).has_value() == (*target != '/'));
  }
  CHECK(plain_head("GET\r\n\r\n") == "GET\r\n\r\n");
  CHECK(plain_head("") == "");
}

TEST_CASE("head: segments of a path that readers take differently") {
  for (const char* const odd :
       {"//health", "/a//b", "/a//", "//", "/./a", "/a/..", "/../a", "/."}) {
    CAPTURE(odd);
    CHECK(has_odd_segment(odd));
    CHECK(has_odd_segment(std::string(odd) + "?a"));
  }
  for (const char* const plain : {"/", "/a", "/a/", "/.a/..b/c.", "/a?b=//c/..", "*"}) {
    CAPTURE(plain);
    CHECK_FALSE(has_odd_segment(plain));
  }
}

TEST_CASE("head: Host is a host, with or without a port") {
  const auto problem = [](const std::string& host) {
    return find_ambiguity("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  };
  for (const char* const host :
       {"", "localhost", "a.example.:7420", "a_b-c:", "127.0.0.1:80", "[::1]", "[::1]:7420",
        "[::ffff:1.2.3.4]", "xn--fa-hia.example", "a%41"}) {
    CHECK_FALSE_MESSAGE(problem(host), host);
  }
  for (const char* const host : {"u@localhost",
                                 "u:p@localhost:80",
                                 "localhost:abc",
                                 "localhost:80:80",
                                 "localhost:-1",
                                 "[::1",
                                 "[::1]x",
                                 "[::1]:x",
                                 "[1]",
                                 "[fe80::1%25eth0]",
                                 "::1",
                                 "]",
                                 ":80",
                                 "a b",
                                 "a\tb",
                                 "a/b",
                                 "http://a",
                                 "a?b",
                                 "a#b",
                                 "a%4",
                                 "a\\b",
                                 "a\"b",
                                 "f\xC3\xBC.example",
                                 "a, b"}) {
    CHECK_MESSAGE(problem(host), host);
  }
  CHECK(find_ambiguity("GET / HTTP/1.0\r\nHost: a b\r\n\r\n"));
  CHECK(refuse_head(plain_head("GET http://a:b/ HTTP/1.1\r\nHost: a\r\n\r\n"))->status == 400);
}

TEST_CASE("head: HTTP/1.1 names a host, HTTP/1.0 need not") {
  CHECK(find_ambiguity("GET / HTTP/1.1\r\n\r\n")->text == "the head has no Host");
  CHECK_FALSE(find_ambiguity("GET / HTTP/1.0\r\n\r\n"));
}

TEST_CASE("head: it may have 65536 bytes, an address 8192, a line 8192, and one more is refused") {
  const auto status_of = [](std::string_view target, const std::string& headers) {
    const auto refusal =
        refuse_head(concat("GET ", target, " HTTP/1.1\r\nHost: a\r\n", headers, "\r\n"));
    return refusal ? refusal->status : 0;
  };
  CHECK(status_of("/" + std::string(8191, 'a'), "") == 0);
  CHECK(status_of("/" + std::string(8192, 'a'), "") == 414);
  CHECK(status_of("/", "X: " + std::string(8187, 'a') + "\r\n") == 0);
  CHECK(status_of("/", "X: " + std::string(8188, 'a') + "\r\n") == 431);
  std::string headers;
  for (int i = 0; i < 8; ++i) headers += "X: " + std::string(8000, 'a') + "\r\n";
  const std::size_t left = 65'536 - (headers + "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n").size();
  CHECK(status_of("/", headers + "X: " + std::string(left, 'a') + "\r\n") == 0);
  CHECK(status_of("/", headers + "X: " + std::string(left + 1, 'a') + "\r\n") == 431);
  CHECK(status_of("/", "X\r\n") == 400);
}

TEST_CASE("head: a path and a query lose their escapes, and a blank in a query may be a plus") {
  const auto request_of = [](std::string_view target) {
    return read_head(concat("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n")).request;
  };
  const Request request = request_of("/a+b%2Fc%C3%A9?q=x+y%2B&q=z&%6E=1=2&&empty&=9&q=z");
  CHECK(request.method == "GET");
  CHECK(request.path == "/a+b/c\xC3\xA9");
  CHECK_FALSE(request.has_broken_escape);
  using Params = std::multimap<std::string, std::string>;
  CHECK(request.params == Params{{"empty", ""}, {"n", "1=2"}, {"q", "x y+"}, {"q", "z"}});
  const Request broken = request_of("/50%?a=%zz&b=%4");
  CHECK(broken.has_broken_escape);
  CHECK(broken.path == "/50%");
  CHECK(broken.params == Params{{"a", "%zz"}, {"b", "%4"}});
  CHECK(read_head("GET //a HTTP/1.1\r\nHost: a\r\n\r\n").has_odd_path);
}

TEST_CASE("head: headers have names in lower case, and values as they were sent") {
  const Request request =
      read_head(
          "GET /jobs/a HTTP/1.1\r\nHost:a\r\nX-Script-Name: \t/jobs \r\nCookie: %61\r\n"
          "cookie: b\r\nEmpty:\r\n\r\n")
          .request;
  CHECK(request.headers ==
        std::map<std::string, std::string>{
            {"cookie", "%61"}, {"empty", ""}, {"host", "a"}, {"x-script-name", "/jobs"}});
  CHECK(request.prefix == "/jobs");
  CHECK(request.path == "/a");
}

TEST_CASE("head: a client takes gzip if it says so, and not with the weight 0") {
  const auto takes_gzip = [](std::string_view accepted) {
    return read_head(concat("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ", accepted, "\r\n\r\n"))
        .takes_gzip;
  };
  for (const char* const yes : {"gzip", "br, GZIP;q=0.5", "deflate,gzip; q=1"})
    CHECK(takes_gzip(yes));
  for (const char* const no : {"", "br", "x-gzip", "gzip;q=0", "gzip; q=0.000 , br"}) {
    CAPTURE(no);
    CHECK_FALSE(takes_gzip(no));
  }
}

TEST_CASE("head: HTTP/1.1 stays open unless told, HTTP/1.0 if told") {
  const auto stays_open = [](std::string_view version, std::string_view headers) {
    return read_head(concat("GET / HTTP/", version, "\r\nHost: a\r\n", headers, "\r\n")).stays_open;
  };
  CHECK(stays_open("1.1", ""));
  CHECK(stays_open("1.1", "Connection: upgrade, closed\r\n"));
  CHECK_FALSE(stays_open("1.1", "Connection: TE , Close\r\n"));
  CHECK_FALSE(stays_open("1.0", ""));
  CHECK(stays_open("1.0", "Connection: Keep-Alive\r\n"));
}

}  // namespace millrace::http
