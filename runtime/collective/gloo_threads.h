// Tells from Gloo's threads whether an operation that does not end still runs, or is lost.
//
// If a connection ends while Gloo has a part of an operation's data to write, or to read, Gloo does
// not tell the operation (gloo/transport/tcp/pair.cc, Pair::signalException passes over `tx_` and
// `rx_`). The operation's thread then sleeps until the operation's own limit, for minutes, and
// fails without another access to its memory. Nothing but the thread of Gloo's event loop could
// wake it earlier. So once all connections are cut, an operation whose thread has slept all the
// time, while the event loop has gone round several times, will never do anything again. One that
// has not begun by then fails as it begins, since it finds its connections closed.
//
// An event loop may also spin on a connection, which it does not read since the receiver has
// failed. Then it has not gone round, and nothing is concluded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace scavenger {

// A thread at one instant, as in /proc/self/task/ID/status.
struct ThreadStatus {
  std::string name;
  bool sleeps = false;            // interruptibly, as one that waits for an event or for a time
  std::uint64_t times_slept = 0;  // how often it has gone to sleep
};
using ThreadStatuses = std::map<pid_t, ThreadStatus>;

ThreadStatus parse_thread_status(std::string_view text);
// Returns those of all threads of this process; none if the system does not tell.
ThreadStatuses threads_of_process();

// The threads that one group of Gloo's has started. Thread: any; take_started() only once.
class GlooThreads final {
 public:
  // Threads that run now are not the group's.
  GlooThreads();
  // Those that have been started since then are.
  void take_started();
  // Whether, between these two instants, the event loop has gone round and all others have slept.
  bool rested(const ThreadStatuses& earlier, const ThreadStatuses& later) const;

 private:
  std::set<pid_t> others_;
  std::set<pid_t> threads_;
};

}  // namespace scavenger
