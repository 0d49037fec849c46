#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/interrupts.hpp"
#include "cli/session.hpp"
#include "server/net/bound_socket.hpp"
#include "server/options/config.hpp"
#include "tools/local/demo.hpp"
#include "tools/local/local_server.hpp"
#include "tools/local/local_verbs.hpp"

extern char** environ;

namespace millrace::tools {
namespace {

using namespace std::chrono_literals;
using cli::Exit;

constexpr auto kDevLook = 200ms;
constexpr const char* kLoopback = "127.0.0.1";

/// The usual address, or one with a port that the system chooses.
std::string usual_or_free(const server::Address& usual) {
  const auto socket =
      server::BoundSocket::bind({.host = kLoopback, .port = usual.port, .path = {}}, server::Log());
  return std::string(kLoopback) + ":" + (socket ? std::to_string(usual.port) : "0");
}

std::string since_taken(const client::Target& target, const server::Address& usual) {
  const bool is_usual = target.port == usual.port;
  return is_usual ? "" : ", since " + std::to_string(usual.port) + " is taken";
}

void print_port(cli::Console& console, const LocalServer& server, const char* name,
                const server::Address& usual) {
  const client::Target target = server.port(name);
  console.print_member(name, target.text() + since_taken(target, usual));
}

/// What tells verbs where the server is, if that is not at the usual ports.
void print_variables(cli::Console& console, const LocalServer& server,
                     const server::Config& usual) {
  const client::Target web = server.port("web");
  const client::Target beanstalk = server.port("beanstalk");
  // A line each: one that is broken at the edge of the terminal cannot be pasted.
  const char* title = "verbs";
  if (web.port != usual.web->port) {
    console.print_member(std::exchange(title, ""), "export MILLRACE_URL=http://" + web.text());
  }
  if (beanstalk.port != usual.beanstalk->port) {
    console.print_member(title, "export BEANSTALKD_URL=" + beanstalk.text());
  }
}

/// Whether there is a person at a desktop.
bool has_desktop() {
  const auto is_set = [](const char* name) {
    return !server::environment_variable(name).value_or("").empty();
  };
  return isatty(STDOUT_FILENO) != 0 && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"));
}

/// Where that fails, the address was printed.
void open_pages(const std::string& url) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0);
  }
  // A browser that this starts must live on, and take signals, as if somebody else had started it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  std::string program = "xdg-open";
  std::string argument = url;
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  (void)posix_spawnp(&child, program.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
}

/// As a client of that server has it.
cli::Choice choice_for(const client::Target& web) {
  cli::Choice choice;
  choice.url.host = web.host;
  choice.url.port = web.port;
  return choice;
}

/// A queue is there once it has had a job.
cli::Reply<cli::Answer> pause_queue_of_demo(const client::Target& web) {
  cli::Api api(choice_for(web));
  const std::string queue = Demo::kPausedQueue;
  auto pushed = api.post(
      "jobs", R"({"jobtype":"SendNewsletter","args":["october"],"queue":")" + queue + R"("})");
  if (!pushed) return pushed;
  return api.post("queues/" + queue + "/pause", "{}");
}

}  // namespace

cli::Exit serve_for_development(cli::Session& session) {
  cli::Console& console = session.console;
  const server::Config usual;
  // Before the first thread: all of them leave the signals to this one.
  cli::Interrupts interrupts;
  auto server = LocalServer::start({"--volatile", "--beanstalk=" + usual_or_free(*usual.beanstalk),
                                    "--faktory=" + usual_or_free(*usual.faktory),
                                    "--web=" + usual_or_free(*usual.web)});
  if (!server) return session.fail({.text = server.error().text});
  const client::Target web = server->port("web");
  const std::string url = "http://" + web.text();
  console.print_member("pages", url + "/" + since_taken(web, *usual.web));
  print_port(console, *server, "faktory", *usual.faktory);
  print_port(console, *server, "beanstalk", *usual.beanstalk);
  print_variables(console, *server, usual);
  std::optional<Demo> demo;
  if (session.choice.dev.has_demo) {
    if (const auto paused = pause_queue_of_demo(web); !paused) return session.fail(paused.error());
    demo.emplace(
        Demo::Ports{.beanstalk = server->port("beanstalk"), .faktory = server->port("faktory")});
    console.print_member(
        "demo", std::string("jobs of both protocols; queue ") + Demo::kPausedQueue + " is paused");
  }
  console.print_member("to end it", "Ctrl-C; nothing is kept");
  (void)console.finish();
  if (session.choice.dev.opens_pages && has_desktop()) open_pages(url + "/");
  while (!interrupts.wait(kDevLook)) {
    if (!server->is_running()) return session.fail({.text = "the server has ended"});
  }
  server->end();
  return Exit::kDone;
}

}  // namespace millrace::tools
