// Starts coroutines that nobody waits for, without losing what they throw.
#pragma once

#include <exception>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/net/asio.h"

namespace scavenger {

// The end of a coroutine that nobody waits for. What it has thrown is thrown again out of the
// context's run(), whose caller decides what becomes of the process; asio::detached would drop it,
// and whoever waits for the coroutine's work would wait for ever. An operation that was cancelled
// is no failure: its owner has ended it.
struct RethrowInRun {
  void operator()(const std::exception_ptr& failure) const {
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const boost::system::system_error& error) {
      if (error.code() != asio::error::operation_aborted) throw;
    }
  }
};

// Runs `task` on the executor or context `where` until it ends.
template <typename Where>
void spawn(Where&& where, awaitable<void> task) {
  asio::co_spawn(std::forward<Where>(where), std::move(task), RethrowInRun{});
}

// For a task that only sends: whoever reads from the connection tells that it is lost.
inline awaitable<void> unless_disconnected(awaitable<void> task) {
  try {
    co_await std::move(task);
  } catch (const ConnectionError&) {
  }
}

}  // namespace scavenger
