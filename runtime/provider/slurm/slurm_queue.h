// What has become of this process's jobs in Slurm: one squeue for all of them, the less often the
// longer nothing changes, because all users of a cluster share its controller.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/net/asio.h"
#include "runtime/provider/slurm/slurm_text.h"

namespace scavenger {

// Returns the seconds until the next look. `waited_seconds`: of the job that was submitted last
// among those that wait in the queue; negative: none waits. Pure.
double slurm_look_seconds(double waited_seconds);

// Thread: the io_context's. It must outlive the last run of the io_context, and the clock must
// outlive it.
class SlurmQueue final {
 public:
  SlurmQueue(asio::io_context& io, const Clock& clock) : io_(io), clock_(clock), wake_(io) {}

  // A job that was just submitted is looked at until forget().
  void follow(const std::string& job);
  void forget(const std::string& job);
  // As it was seen last, as slurm_state() says it: "" if Slurm does not know it any more, "?" if it
  // was not seen yet. A state is kept while Slurm does not answer.
  std::string state(const std::string& job) const;
  std::string node(const std::string& job) const;  // of a job that runs
  // Until its time limit ends a job that runs; nothing: it has none, or it was not seen yet.
  std::optional<double> seconds_left(const std::string& job) const;
  int looks() const { return looks_; }

 private:
  struct Entry {
    SlurmJobState seen = {.state = "?"};
    double seen_at = 0.0;  // seconds of clock_
    double since = 0.0;    // submitted
  };

  awaitable<void> watch();
  awaitable<void> look();
  double next_seconds() const;

  asio::io_context& io_;
  const Clock& clock_;
  asio::steady_timer wake_;
  std::map<std::string, Entry> jobs_;
  bool is_watching_ = false;
  int looks_ = 0;
};

}  // namespace scavenger
