// The event loop of a process: an io_context and the machine's clock.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "runtime/net/asio.h"
#include "runtime/net/event_loop.h"

namespace scavenger {

class AsioLoop final : public EventLoop {
 public:
  // Both must outlive the loop, and the loop its threads.
  AsioLoop(asio::io_context& io, const Clock& clock) : io_(io), clock_(clock) {}

  const Clock& clock() const override { return clock_; }
  void post(std::function<void()> what) override;
  void after(double seconds, std::function<void()> what) override;
  std::unique_ptr<BackgroundThread> start_thread() override;
  void run() override { io_.run(); }
  void stop() override { io_.stop(); }
  bool is_stopped() const override { return io_.stopped(); }

 private:
  asio::io_context& io_;
  const Clock& clock_;
  // Timers that have not expired; a timer is destroyed after its handler.
  std::list<asio::steady_timer> timers_;
};

}  // namespace scavenger
