// A thread that runs an io_context, for a process whose main thread computes.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <thread>

#include "runtime/net/asio.h"

namespace scavenger {

// The destructor stops the context and joins the thread. Pending operations are dropped, so
// complete those that matter before.
class IoThread final {
 public:
  IoThread() : work_(io_.get_executor()), thread_([this] { io_.run(); }) {}
  ~IoThread() {
    io_.stop();
    thread_.join();
  }
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  asio::io_context& context() { return io_; }

 private:
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace scavenger
