#include "runtime/net/asio_loop.h"

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <utility>

namespace scavenger {
namespace {

class AsioThread final : public BackgroundThread {
 public:
  explicit AsioThread(asio::io_context& io) : io_(io) {}
  ~AsioThread() override { thread_.join(); }

  void run(std::function<void()> work, std::function<void()> then) override {
    asio::post(thread_, [this, work = std::move(work), then = std::move(then)] {
      work();
      asio::post(io_, [lives = std::weak_ptr(lives_), then] {
        if (lives.lock()) then();
      });
    });
  }

 private:
  asio::io_context& io_;
  const std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);
  asio::thread_pool thread_{1};
};

}  // namespace

void AsioLoop::post(std::function<void()> what) {
  asio::post(io_, std::move(what));
}

void AsioLoop::after(double seconds, std::function<void()> what) {
  const auto timer = timers_.emplace(timers_.end(), io_);
  timer->expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(
      std::chrono::duration<double>(seconds)));
  timer->async_wait([this, timer, what = std::move(what)](const boost::system::error_code& error) {
    if (error) return;  // the loop is being destroyed, and its list of timers with it
    timers_.erase(timer);
    what();
  });
}

std::unique_ptr<BackgroundThread> AsioLoop::start_thread() {
  return std::make_unique<AsioThread>(io_);
}

}  // namespace scavenger
