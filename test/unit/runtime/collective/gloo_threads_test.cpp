#include "runtime/collective/gloo_threads.h"

#include <pthread.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

using namespace scavenger;
using namespace std::chrono_literals;

namespace {

// Real threads, which do what Gloo's do.
class Threads final {
 public:
  ~Threads() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  void loop(const char* name = "gloo_tcp_loop") {
    start(name, [this] {
      while (!is_over_) std::this_thread::sleep_for(5ms);
    });
  }
  void lost_operation() {
    start("pt_gloo_runloop", [this] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_over_.load(); });
    });
  }
  void computing() {
    start("pt_gloo_runloop", [this] {
      while (!is_over_) {
      }
    });
  }

 private:
  void start(const char* name, const std::function<void()>& what) {
    std::atomic<bool> runs = false;
    threads_.emplace_back([&runs, name, what] {
      ::pthread_setname_np(::pthread_self(), name);
      const auto own = what;
      runs = true;
      own();
    });
    while (!runs) std::this_thread::sleep_for(1ms);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> is_over_ = false;
  std::vector<std::thread> threads_;
};

// Whether they have rested in one of several waits; a thread has gone to sleep after the first.
bool rest(const GlooThreads& threads) {
  ThreadStatuses earlier = threads_of_process();
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(50ms);
    ThreadStatuses later = threads_of_process();
    if (threads.rested(earlier, later)) return true;
    earlier = std::move(later);
  }
  return false;
}

}  // namespace

TEST_CASE("a group rests if its loop goes round and nothing else does") {
  Threads threads;
  GlooThreads gloo;
  threads.loop();
  threads.lost_operation();
  threads.lost_operation();
  gloo.take_started();
  CHECK(rest(gloo));
}

TEST_CASE("a thread that computes, or that wakes now and then, may still access its memory") {
  for (const bool computes : {false, true}) {
    Threads threads;
    GlooThreads gloo;
    threads.loop();
    threads.lost_operation();
    computes ? threads.computing() : threads.loop("pt_gloo_runloop");
    gloo.take_started();
    CHECK_FALSE(rest(gloo));
  }
}

TEST_CASE("without a loop that is known to run nothing is concluded") {
  Threads threads;
  GlooThreads gloo;
  threads.lost_operation();
  gloo.take_started();
  CHECK_FALSE(rest(gloo));
}

TEST_CASE("threads of earlier or later groups are not of interest") {
  Threads threads;
  threads.computing();
  GlooThreads gloo;
  threads.loop();
  threads.lost_operation();
  gloo.take_started();
  threads.loop("pt_gloo_runloop");
  CHECK(rest(gloo));
}

TEST_CASE("a thread that has ended is at rest") {
  GlooThreads gloo;
  Threads remaining;
  remaining.loop();
  {
    Threads ended;
    ended.computing();
    gloo.take_started();
    CHECK_FALSE(rest(gloo));
  }
  CHECK(rest(gloo));
}

TEST_CASE("the kernel's text on a thread") {
  const ThreadStatus status = parse_thread_status(
      "Name:\tgloo_tcp_loop\nUmask:\t0022\nState:\tS (sleeping)\n"
      "voluntary_ctxt_switches:\t1234\nnonvoluntary_ctxt_switches:\t7\n");
  CHECK(status.name == "gloo_tcp_loop");
  CHECK(status.sleeps);
  CHECK(status.times_slept == 1234);
  CHECK_FALSE(parse_thread_status("Name:\tx\nState:\tD (disk sleep)\n").sleeps);
  CHECK(parse_thread_status("").times_slept == 0);
}
