// The parts of Boost.Asio that the project uses, under one short name.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace scavenger {

namespace asio = boost::asio;
using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;

// Asio's default moves at most 64 KiB in each system call. On loopback this costs a third of the
// speed, so this condition asks for everything at once.
struct TransferAll {
  std::size_t operator()(const boost::system::error_code& error, std::size_t) const {
    return error ? 0 : std::size_t{1} << 30;
  }
};

}  // namespace scavenger
