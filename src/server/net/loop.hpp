#pragma once

#include <asio/awaitable.hpp>
#include <asio/basic_socket_acceptor.hpp>
#include <asio/basic_stream_socket.hpp>
#include <asio/basic_waitable_timer.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>
#include <chrono>

/// Asio's types with the executor that we use fixed, so that nothing is looked up at run time. One
/// kind of socket serves TCP and unix addresses.
namespace millrace::server {

using Loop = asio::io_context;
using Executor = Loop::executor_type;
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol, Executor>;
using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol, Executor>;
using Endpoint = asio::generic::stream_protocol::endpoint;
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, Executor>;

template <typename T>
using Task = asio::awaitable<T, Executor>;
inline constexpr asio::use_awaitable_t<Executor> kAwait{};

}  // namespace millrace::server
