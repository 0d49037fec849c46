#include "server/net/bound_socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "journal/posix/descriptor.hpp"
#include "server/net/peer.hpp"

namespace millrace::server {
namespace {

using Found = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

sockaddr_un unix_name(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  return name;
}

/// True when a server answers on the socket file. Not blocking: a full backlog is an answer too.
bool is_answered(const sockaddr_un& name) {
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (probe < 0) return true;
  const bool is_refused =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 &&
      errno == ECONNREFUSED;
  ::close(probe);
  return !is_refused;
}

/// The first IPv4 address, or else the first: a name such as localhost often has one of each, and
/// most clients are told the numbers of the former.
const addrinfo& preferred(const addrinfo& found) {
  for (const addrinfo* each = &found; each != nullptr; each = each->ai_next) {
    if (each->ai_family == AF_INET) return *each;
  }
  return found;
}

/// False where the kernel was built or started without it.
bool has_ipv6() {
  const int probe = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe >= 0) ::close(probe);
  return probe >= 0;
}

int socket_option(int descriptor, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : 0;
}

std::string host_of(const sockaddr_storage& name) {
  char text[INET6_ADDRSTRLEN] = "";
  const void* number =
      name.ss_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(name).sin_addr)
          : &reinterpret_cast<const sockaddr_in6&>(name).sin6_addr;
  inet_ntop(name.ss_family, number, text, sizeof text);
  return text;
}

}  // namespace

BoundSocket::BoundSocket(BoundSocket&& other) noexcept
    : address_(other.address_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      family_(other.family_),
      is_local_(other.is_local_),
      is_adopted_(other.is_adopted_),
      file_(std::exchange(other.file_, std::nullopt)) {}

BoundSocket::~BoundSocket() {
  remove_file();
  if (descriptor_ >= 0) ::close(descriptor_);
}

int BoundSocket::release() {
  return std::exchange(descriptor_, -1);
}

Problem BoundSocket::problem(const std::string& why) const {
  return Problem{"cannot listen on " + address_.text() + ": " + why};
}

// ---- an address of our choice -------------------------------------------------------------------

Outcome<BoundSocket> BoundSocket::bind(const Address& address, const Log& log) {
  BoundSocket socket(address);
  const Outcome<Done> bound = address.is_unix() ? socket.bind_unix(log) : socket.bind_tcp();
  if (!bound) return bound.error();
  return socket;
}

Outcome<Done> BoundSocket::bind_tcp() {
  if (address_.is_everywhere()) address_.host = has_ipv6() ? "::" : "0.0.0.0";
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  const std::string port = std::to_string(address_.port);
  const int failure = getaddrinfo(address_.host.c_str(), port.c_str(), &wanted, &list);
  if (failure != 0) return problem(gai_strerror(failure));
  const Found found(list, &freeaddrinfo);
  const addrinfo& chosen = preferred(*found);
  const auto bound = open_and_bind(chosen.ai_addr, chosen.ai_addrlen, chosen.ai_family);
  return bound ? learn_address() : bound;
}

Outcome<Done> BoundSocket::bind_unix(const Log& log) {
  if (address_.path.size() > kUnixPathBytesMax) return problem(std::strerror(ENAMETOOLONG));
  const sockaddr_un name = unix_name(address_.path);
  struct stat facts {};
  if (lstat(address_.path.c_str(), &facts) == 0) {
    if (!S_ISSOCK(facts.st_mode)) return problem("the file exists and is not a socket");
    if (is_answered(name)) return problem("another server answers there");
    if (::unlink(address_.path.c_str()) != 0) return problem(std::strerror(errno));
    log.event("stale_socket_replaced", {{"path", address_.path}});
  }
  if (const auto bound = open_and_bind(&name, sizeof name, AF_UNIX); !bound) return bound;
  file_ = identify(address_.path);
  return Done{};
}

/// What clients' sockets are to have is set here: they inherit it.
Outcome<Done> BoundSocket::open_and_bind(const void* name, std::uint32_t size, int family) {
  family_ = family;
  descriptor_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor_ < 0) return problem(std::strerror(errno));
  const int on = 1;
  (void)::setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) {
    // [::] takes clients of IPv4 as well, whatever the system's default is (`bindv6only`).
    const int off = 0;
    (void)::setsockopt(descriptor_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (family != AF_UNIX) {
    (void)::setsockopt(descriptor_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  if (::bind(descriptor_, static_cast<const sockaddr*>(name), size) != 0) {
    return problem(std::strerror(errno));
  }
  return Done{};
}

void BoundSocket::probe_idle_peers() {
  constexpr int kIdleSeconds = 30;
  constexpr int kProbeSeconds = 10;
  constexpr int kProbes = 3;
  (void)::setsockopt(descriptor_, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleSeconds, sizeof kIdleSeconds);
  (void)::setsockopt(descriptor_, IPPROTO_TCP, TCP_KEEPINTVL, &kProbeSeconds, sizeof kProbeSeconds);
  (void)::setsockopt(descriptor_, IPPROTO_TCP, TCP_KEEPCNT, &kProbes, sizeof kProbes);
}

/// Whether it is local, and which port the system chose.
Outcome<Done> BoundSocket::learn_address() {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (getsockname(descriptor_, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return problem(std::strerror(errno));
  }
  const auto place = place_of(reinterpret_cast<const sockaddr*>(&name));
  is_local_ = !place || place->is_loopback();
  // The port is at the same place for both families.
  address_.port = ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port);
  return Done{};
}

// ---- a socket that was handed over --------------------------------------------------------------

Outcome<BoundSocket> BoundSocket::adopt(int descriptor) {
  const Problem unfit{"descriptor " + std::to_string(descriptor) +
                      " is not a TCP or unix stream socket that listens"};
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&name), &size) != 0) return unfit;
  const bool is_stream = socket_option(descriptor, SO_TYPE) == SOCK_STREAM;
  if (!is_stream || socket_option(descriptor, SO_ACCEPTCONN) == 0) return unfit;
  Address address;
  if (name.ss_family == AF_UNIX) {
    const auto& unix_form = reinterpret_cast<const sockaddr_un&>(name);
    address.path.assign(unix_form.sun_path, size - offsetof(sockaddr_un, sun_path));
    // An abstract name begins with a NUL, others end with one.
    address.path = address.path.c_str();
    if (address.path.empty()) address.path = "(abstract)";
  } else if (name.ss_family == AF_INET || name.ss_family == AF_INET6) {
    address.host = host_of(name);
  } else {
    return unfit;
  }
  BoundSocket socket(std::move(address));
  socket.descriptor_ = descriptor;
  socket.family_ = name.ss_family;
  socket.is_adopted_ = true;
  (void)::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  if (socket.family_ == AF_UNIX) return socket;
  const int on = 1;
  (void)::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  (void)::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (const auto learned = socket.learn_address(); !learned) return learned.error();
  return socket;
}

// ---- a socket that is used by one server after the other ----------------------------------------

Outcome<BoundSocket> BoundSocket::duplicate() const {
  BoundSocket same(address_);
  same.family_ = family_;
  same.is_local_ = is_local_;
  same.is_adopted_ = is_adopted_;
  same.descriptor_ = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (same.descriptor_ < 0) return problem(std::strerror(errno));
  return same;
}

void BoundSocket::refuse_clients() const {
  if (family_ != AF_UNIX && !is_adopted_) (void)::shutdown(descriptor_, SHUT_RD);
}

// ---- the file of a unix socket ------------------------------------------------------------------

std::optional<BoundSocket::FileIdentity> BoundSocket::identify(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return std::nullopt;
  return FileIdentity{.device = facts.st_dev, .inode = facts.st_ino};
}

Outcome<Done> BoundSocket::give_file_to(std::uint32_t user_id, std::uint32_t group_id) const {
  if (!file_) return Done{};
  // The user may own the directory, and lead the path to a file of root's meanwhile.
  const journal::Descriptor file(::open(address_.path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts {};
  if (!file.is_open() || ::fstat(file.get(), &facts) != 0) return problem(std::strerror(errno));
  if (FileIdentity{.device = facts.st_dev, .inode = facts.st_ino} != *file_) {
    return problem("the file was replaced");
  }
  if (::fchownat(file.get(), "", user_id, group_id, AT_EMPTY_PATH) != 0) {
    return problem(std::strerror(errno));
  }
  return Done{};
}

Outcome<Done> BoundSocket::set_file_mode(std::uint32_t mode) const {
  if (file_ && ::chmod(address_.path.c_str(), mode) != 0) return problem(std::strerror(errno));
  return Done{};
}

void BoundSocket::remove_file() {
  if (file_ && identify(address_.path) == file_) ::unlink(address_.path.c_str());
  file_.reset();
}

}  // namespace millrace::server
