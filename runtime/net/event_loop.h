// The port for what happens later: a real event loop in a process, one on a virtual clock in a
// simulation. Who waits only through this port can be simulated faster than it runs.
#pragma once

#include <functional>
#include <memory>

#include "runtime/base/clock.h"

namespace scavenger {

// A thread beside the loop, which does one piece of work after the other. The destructor waits for
// the work that was given to it, and calls no `then` any more that would be called in the loop
// after it.
class BackgroundThread {
 public:
  virtual ~BackgroundThread() = default;
  // Runs `work` on the thread, then `then` in the loop. `work` must not throw.
  virtual void run(std::function<void()> work, std::function<void()> then) = 0;
};

// Thread: the one that calls run(), for all functions and everything that they call.
class EventLoop {
 public:
  virtual ~EventLoop() = default;

  // The clock by which after() counts.
  virtual const Clock& clock() const = 0;
  // Calls `what` soon, but not before post() has returned, and in the order of the calls.
  virtual void post(std::function<void()> what) = 0;
  // Calls `what` once, at least `seconds` from now.
  virtual void after(double seconds, std::function<void()> what) = 0;
  virtual std::unique_ptr<BackgroundThread> start_thread() = 0;

  // Runs until stop() is called or nothing is left to wait for. Throws what a handler throws; the
  // next run() goes on with the others.
  virtual void run() = 0;
  virtual void stop() = 0;
  virtual bool is_stopped() const = 0;
};

}  // namespace scavenger
