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
  ~IoThread() { stop(); }
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  asio::io_context& context() { return io_; }
  // Ends the thread. What it used may be destroyed then.
  void stop() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }

  // Stops it at the end of a scope, for objects that are declared before and used by the thread.
  class StopAtEnd final {
   public:
    explicit StopAtEnd(IoThread& io) : io_(io) {}
    ~StopAtEnd() { io_.stop(); }
    StopAtEnd(const StopAtEnd&) = delete;
    StopAtEnd& operator=(const StopAtEnd&) = delete;

   private:
    IoThread& io_;
  };

 private:
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

}  // namespace scavenger
