// An event loop on a virtual clock: what is to happen in an hour happens at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "runtime/net/event_loop.h"

namespace scavenger::elastic {

class VirtualLoop final : public EventLoop {
 public:
  // run() throws std::runtime_error beyond so much virtual time: the job does not end.
  explicit VirtualLoop(double limit_seconds = 1e6) : limit_seconds_(limit_seconds) {}

  double now() const { return clock_.seconds; }
  // How long the next piece of work on a thread takes.
  std::function<double()> work_seconds = [] { return 0.01; };

  const Clock& clock() const override { return clock_; }
  void post(std::function<void()> what) override { after(0.0, std::move(what)); }
  void after(double seconds, std::function<void()> what) override {
    agenda_.emplace(now() + seconds, std::move(what));
  }
  std::unique_ptr<BackgroundThread> start_thread() override {
    return std::make_unique<VirtualThread>(*this);
  }
  void run() override {
    while (!stopped_ && !agenda_.empty()) {
      const auto next = agenda_.begin();
      if (next->first > limit_seconds_) throw std::runtime_error("the job does not end");
      clock_.seconds = next->first;
      const std::function<void()> what = std::move(next->second);
      agenda_.erase(next);
      what();
    }
  }
  void stop() override { stopped_ = true; }
  bool is_stopped() const override { return stopped_; }

 private:
  struct VirtualClock final : Clock {
    double now_seconds() const override { return seconds; }
    double seconds = 0.0;
  };

  // Its work is done at once, and known later; one piece waits for the other.
  class VirtualThread final : public BackgroundThread {
   public:
    explicit VirtualThread(VirtualLoop& loop) : loop_(loop) {}
    void run(std::function<void()> work, std::function<void()> then) override {
      work();
      busy_until_ = std::max(busy_until_, loop_.now()) + loop_.work_seconds();
      loop_.after(busy_until_ - loop_.now(),
                  [then = std::move(then), lives = std::weak_ptr(lives_)] {
                    if (lives.lock()) then();
                  });
    }

   private:
    VirtualLoop& loop_;
    double busy_until_ = 0.0;
    const std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);
  };

  const double limit_seconds_;
  VirtualClock clock_;
  std::multimap<double, std::function<void()>> agenda_;  // equal times: in the order of the calls
  bool stopped_ = false;
};

}  // namespace scavenger::elastic
