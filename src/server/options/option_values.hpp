#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "server/options/config.hpp"

/// Reads the values of options, and shows them to people. A problem says what is wrong with the
/// text, and not with which option.
namespace millrace::server {

[[nodiscard]] Outcome<Done> set_text(std::string& member, const std::string& text);
/// One line of UTF-8, of at most 255 bytes.
[[nodiscard]] Outcome<Done> set_description(std::string& member, const std::string& text);
/// `prod` or `prod:red`: up to 40 bytes of UTF-8, and a color that the web UI has. Without one it
/// is red for names that begin with `prod`, else blue.
[[nodiscard]] Outcome<Done> set_server_name(ServerName& member, const std::string& text);
[[nodiscard]] Outcome<Done> set_address(std::optional<Address>& member, const std::string& text);
[[nodiscard]] Outcome<Done> set_names(std::vector<std::string>& member, const std::string& text);
[[nodiscard]] Outcome<Done> set_sync(SyncChoice& member, const std::string& text);
[[nodiscard]] Outcome<Done> set_size(std::size_t& member, const std::string& text);
[[nodiscard]] Outcome<Done> set_segment_size(std::uint64_t& member, const std::string& text);
[[nodiscard]] Outcome<Done> set_memory(std::uint64_t& member, const std::string& text);
[[nodiscard]] Outcome<Done> set_count(std::uint64_t& member, const std::string& text);
[[nodiscard]] Outcome<Done> set_timeout(std::optional<Duration>& member, const std::string& text);
/// `on`, `off`, or for how many seconds after the end of its job a push is remembered.
[[nodiscard]] Outcome<Done> set_pushes(PushRules& member, const std::string& text);
/// `50000` or `50000,48h`.
[[nodiscard]] Outcome<Done> set_finished(FinishedJobs::Limits& member, const std::string& text);
[[nodiscard]] Outcome<Done> set_io_threads(std::optional<std::size_t>& member,
                                           const std::string& text);
[[nodiscard]] Outcome<Done> set_poison_after(std::uint32_t& member, const std::string& text);
/// `660`: who may connect to a unix socket, in octal. Its owner always may.
[[nodiscard]] Outcome<Done> set_mode(std::optional<unsigned>& member, const std::string& text);
[[nodiscard]] Outcome<Done> set_switch(bool& member, const std::string& text);
/// `beanstalk,web`; a switch that is on means beanstalk, whose protocol has no passwords.
[[nodiscard]] Outcome<Done> set_open_ports(OpenPorts& member, const std::string& text);
[[nodiscard]] Outcome<Done> set_node(std::string& member, const std::string& text);
[[nodiscard]] Outcome<Done> set_lease(std::chrono::milliseconds& member, const std::string& text);
/// The problem does not show the text, which may have a password.
[[nodiscard]] Outcome<Done> set_log_format(LogFormat& member, const std::string& text);
[[nodiscard]] Outcome<Done> set_log(std::string& member, const std::string& text);

[[nodiscard]] std::string shown_text(bool is_on);
[[nodiscard]] std::string shown_text(std::uint32_t number);
[[nodiscard]] std::string shown_text(std::uint64_t number);
[[nodiscard]] std::string shown_text(const std::string& text);
[[nodiscard]] std::string shown_text(const std::vector<std::string>& names);
[[nodiscard]] std::string shown_text(const std::optional<Address>& address);
[[nodiscard]] std::string shown_text(const std::optional<Duration>& timeout);
[[nodiscard]] std::string shown_text(LogFormat format);
[[nodiscard]] std::string shown_text(const OpenPorts& ports);
[[nodiscard]] std::string shown_text(const ServerName& name);
[[nodiscard]] std::string shown_text(const SyncChoice& sync);
[[nodiscard]] std::string shown_text(const PushRules& pushes);
[[nodiscard]] std::string shown_text(const FinishedJobs::Limits& finished);
/// The mode of a socket.
[[nodiscard]] std::string shown_text(const std::optional<unsigned>& mode);

}  // namespace millrace::server
