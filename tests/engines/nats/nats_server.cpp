#include "engines/nats/nats_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>

#include "support/doctest.hpp"

namespace millrace::engines {
namespace {

bool is_port_free(int port) {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const int failed = bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address);
  close(probe);
  return failed == 0;
}

}  // namespace

int free_nats_port() {
  static std::mt19937 random(std::random_device{}());
  for (;;) {
    const int port = std::uniform_int_distribution<int>(16000, 31999)(random);
    if (is_port_free(port)) return port;
  }
}

std::string nats_server_program() {
  if (const char* named = std::getenv("MILLRACE_NATS_SERVER")) return named;
  for (const char* path : {"/usr/sbin/nats-server", "/usr/bin/nats-server"}) {
    if (access(path, X_OK) == 0) return path;
  }
  return {};
}

NatsDirectory::NatsDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "millrace-nats-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

NatsDirectory::~NatsDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

NatsServer::NatsServer(std::filesystem::path directory, Options options)
    : directory_(std::move(directory)), options_(std::move(options)) {
  if (options_.port == 0) options_.port = free_nats_port();
  std::filesystem::create_directories(directory_);
  std::ofstream(directory_ / "config") << "listen: \"127.0.0.1:" << options_.port << "\"\n"
                                       << "server_name: " << options_.name << "\n"
                                       << options_.config << "\n";
}

NatsServer::~NatsServer() {
  kill();
}

void NatsServer::start() {
  const std::string program = nats_server_program();
  REQUIRE_MESSAGE(!program.empty(), "there is no nats-server");
  const std::string config = (directory_ / "config").string();
  const std::string log = (directory_ / "log").string();
  const std::string store = (directory_ / "store").string();
  const pid_t parent = getpid();
  pid_ = fork();
  REQUIRE(pid_ >= 0);
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  execl(program.c_str(), program.c_str(), "-c", config.c_str(), "-l", log.c_str(), "-sd",
        store.c_str(), "-js", static_cast<char*>(nullptr));
  _exit(127);
}

void NatsServer::kill() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

/// On a busy machine its threads may go on for a while after the signal.
void NatsServer::pause() {
  ::kill(pid_, SIGSTOP);
  waitpid(pid_, nullptr, WUNTRACED);
}

void NatsServer::resume() {
  ::kill(pid_, SIGCONT);
}

NatsCluster::NatsCluster(int size, const std::string& config) {
  std::vector<int> ports;
  std::string routes;
  for (int i = 0; i < size; ++i) {
    ports.push_back(free_nats_port());
    routes += "\"nats://127.0.0.1:" + std::to_string(ports.back()) + "\",";
  }
  for (int i = 0; i < size; ++i) {
    NatsServer::Options options{"n" + std::to_string(i + 1), 0, config};
    options.config += "\ncluster {name: c, listen: \"127.0.0.1:" +
                      std::to_string(ports[static_cast<std::size_t>(i)]) + "\", routes: [" +
                      routes + "]}";
    servers_.push_back(
        std::make_unique<NatsServer>(directory_.path() / options.name, std::move(options)));
    servers_.back()->start();
  }
}

NatsServer& NatsCluster::named(const std::string& name) {
  for (const auto& server : servers_) {
    if (server->name() == name) return *server;
  }
  FAIL("no server is named ", name);
  std::abort();
}

NatsServer& NatsCluster::other_than(const std::vector<std::string>& names) {
  for (const auto& server : servers_) {
    if (std::find(names.begin(), names.end(), server->name()) == names.end()) return *server;
  }
  FAIL("no other server");
  std::abort();
}

std::string NatsCluster::addresses() const {
  std::string all;
  for (const auto& server : servers_) all += (all.empty() ? "" : ",") + server->address();
  return all;
}

}  // namespace millrace::engines
