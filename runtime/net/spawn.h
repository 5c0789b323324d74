// Starts coroutines that no caller waits for, without losing their exceptions.
#pragma once

#include <exception>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/net/asio.h"

namespace scavenger {

// Completion handler of a coroutine that no caller waits for. It rethrows the coroutine's exception
// out of the context's run(), whose caller decides what happens to the process. (asio::detached
// would drop the exception, and whatever depends on the coroutine's work would wait for ever.) A
// cancelled operation is no failure, since its owner has ended it.
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

// Ignores the loss of the connection in a task that only sends: the reader of that connection
// reports the loss.
inline awaitable<void> unless_disconnected(awaitable<void> task) {
  try {
    co_await std::move(task);
  } catch (const ConnectionError&) {
  }
}

}  // namespace scavenger
