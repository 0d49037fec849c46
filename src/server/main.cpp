#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "server/config.hpp"
#include "server/logging.hpp"
#include "server/serve.hpp"

namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

int fail(const std::string& text, int code) {
  std::fprintf(stderr, "millrace: %s\n", text.c_str());
  return code;
}

int run(const std::vector<std::string>& arguments) {
  using millrace::server::Invocation;
  const Invocation invocation = millrace::server::read_invocation(arguments);
  switch (invocation.action) {
    case Invocation::Action::kPrint:
      std::fputs(invocation.text.c_str(), stdout);
      return 0;
    case Invocation::Action::kRefuse:
      return fail(invocation.text, kExitUsage);
    case Invocation::Action::kServe:
      break;
  }
  const millrace::server::Log log;
  const auto served = millrace::server::serve(invocation.config, log);
  return served ? 0 : fail(served.error().text, kExitFailed);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& exception) {
    return fail(exception.what(), kExitFailed);
  }
}
