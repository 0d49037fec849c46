#include "client/faktory.hpp"

#include "base/number.hpp"

namespace millrace::client {
namespace {

constexpr std::size_t kJobBytesMax = std::size_t{1} << 31;

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all += part;
  return all;
}

Failure refused(const std::string& answer) {
  return {.text = "the server answered " + answer.substr(1), .is_refusal = true};
}

}  // namespace

Reply<Faktory> Faktory::connect(const Target& target, std::string_view wid) {
  Reply<Connection> connection = Connection::open(target);
  if (!connection) return connection.error();
  Faktory client(std::move(*connection));
  client.wid_ = wid;
  const Reply<std::string> hello = client.connection_.greeting();
  if (!hello) return hello.error();
  if (!hello->starts_with("+HI ")) return Failure{.text = "no Faktory port: " + target.text()};
  const std::string worker =
      wid.empty() ? ""
                  : joined({R"(,"hostname":"localhost","pid":1,"labels":["millrace"],"wid":")", wid,
                            R"(")"});
  if (auto told = client.tell(joined({R"(HELLO {"v":2)", worker, "}"})); !told) {
    return told.error();
  }
  return client;
}

Reply<Done> Faktory::tell(std::string_view command) {
  if (auto sent = connection_.send(joined({command, "\r\n"})); !sent) return sent.error();
  const Reply<std::string> answer = connection_.line();
  if (!answer) return answer.error();
  if (!answer->starts_with("+")) return refused(*answer);
  return Done{};
}

Reply<Done> Faktory::push(std::string_view job) {
  return tell(joined({"PUSH ", job}));
}

Reply<std::optional<std::string>> Faktory::fetch(const std::vector<std::string>& queues) {
  std::string command = "FETCH";
  for (const std::string& queue : queues) command += " " + queue;
  if (auto sent = connection_.send(command + "\r\n"); !sent) return sent.error();
  const Reply<std::string> answer = connection_.line();
  if (!answer) return answer.error();
  if (*answer == "$-1") return std::optional<std::string>();
  const auto bytes = answer->starts_with("$") ? parse_number<std::size_t>(answer->substr(1))
                                              : std::optional<std::size_t>();
  if (!bytes || *bytes > kJobBytesMax) return refused(*answer);
  Reply<std::string> job = connection_.body(*bytes);
  if (!job) return job.error();
  return std::optional<std::string>(std::move(*job));
}

Reply<Done> Faktory::acknowledge(std::string_view jid) {
  return tell(joined({R"(ACK {"jid":")", jid, R"("})"}));
}

Reply<Done> Faktory::fail(std::string_view jid, std::string_view type, std::string_view message) {
  return tell(joined(
      {R"(FAIL {"jid":")", jid, R"(","errtype":")", type, R"(","message":")", message, R"("})"}));
}

Reply<Done> Faktory::beat() {
  return tell(joined({R"(BEAT {"wid":")", wid_, R"("})"}));
}

}  // namespace millrace::client
