// The port for the synchronised step of K workers, as the worker loop sees it. The clients of the
// parameter server implement it, over TCP and in shared memory; so does all-reduce.
// docs/design/synchronisation.md compares them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/training/membership.h"

namespace scavenger {

// The address of a shard.
struct ShardAddress {
  std::string host;
  std::uint16_t port = 0;
  // Whether it is on the worker's host, where it reads gradients and writes weights directly in the
  // worker's memory.
  bool is_near = false;
  bool operator==(const ShardAddress&) const = default;
};

// What a worker knows about the other workers, from one reshape to the next.
struct SyncGroup {
  std::uint32_t rank = 0;  // this worker's rank in the membership
  Membership membership;
  // By rank: the worker's index, which a process keeps while ranks change. It selects the worker's
  // part of shared memory.
  std::vector<std::uint32_t> slots;
  // By rank: the host of each worker; or empty. If set, the workers of one host send one gradient
  // to the shards, their weighted mean. The worker of the lowest rank there does so for the others,
  // who find its memory by its process id.
  std::vector<std::uint32_t> hosts;
  std::int64_t uplink_pid = 0;
  // In the order of their indices; for all-reduce, the one address at which its workers meet.
  std::vector<ShardAddress> shards;
  bool writes_initial_weights = false;  // this worker writes them, for a new job

  // If the workers keep the state: the number of optimizer steps taken with it, and whether a
  // worker lacks the state, so that the worker `source_rank` broadcasts it.
  std::uint64_t optimizer_steps = 0;
  bool shares_state = false;
  std::uint32_t source_rank = 0;
  std::uint32_t threads = 1;  // computing threads of this worker, and of each other one on its host
  // If the workers of a host add up on their devices: where they meet.
  ShardAddress host_meeting = {};
  bool operator==(const SyncGroup&) const = default;
};

// Writes the model's initial weights into a flat vector.
using InitialWeights = std::function<void(std::span<float>)>;

// Called within work_ahead() and finish(): these weights of the iteration that comes next are
// final, in the vector that weights() will be. The ranges of an iteration do not overlap.
using WeightsReady =
    std::function<void(std::span<float> next_weights, std::uint64_t first, std::uint64_t last)>;

// The cost of one synchronised iteration for this worker, and the squared norms of its gradients.
struct SyncResult {
  // Time from the end of backward until the new weights: exposed synchronisation.
  double wait_seconds = 0.0;
  double local_gradient_sqr_norm = 0.0;   // |g_k|^2 of this worker's mean gradient
  double global_gradient_sqr_norm = 0.0;  // |sum_k (b_k / B) g_k|^2
  // All of this is not known yet, since a device computes it: Synchroniser::late_result() has it.
  bool is_late = false;
};

class StateHolder;

// Order of calls: join(); for each iteration begin(), gradient_ready() for all ranges, finish();
// then join() again. work_ahead() may come at any time in between. Thread: the worker's compute
// thread, except for interrupt() and allow().
class Synchroniser {
 public:
  virtual ~Synchroniser() = default;

  // Joins a new group. Returns true when weights() are the job's weights at
  // group.membership.first_iteration; false if it was interrupted. Throws ConnectionError,
  // ProtocolError.
  virtual bool join(const SyncGroup& group, const InitialWeights& initial_weights) = 0;

  // The flat vectors. The synchroniser owns them, so that they can be in shared memory. The weights
  // may move at each finish() and join(), the gradients at each join().
  virtual std::span<float> weights() = 0;
  virtual std::span<float> gradients() = 0;

  virtual void begin(std::uint64_t iteration) = 0;
  // Gradients at [first, last) are final: they may be sent, and the weights there may be
  // overwritten.
  virtual void gradient_ready(std::uint64_t first, std::uint64_t last) = 0;
  // Does a part of what finish() will have to do, if some of it can be done already. It is for a
  // thread that waits for its device within a pass. Returns false if there is nothing at present.
  virtual bool work_ahead() { return false; }
  // Blocks until weights() are those after this iteration. Returns nothing if it was interrupted or
  // a peer was lost (problem() tells which): this worker then does not know whether the iteration
  // was completed, and the next call must be join().
  virtual std::optional<SyncResult> finish() = 0;
  // Returns the whole result of the last finish() whose result was late. Call it before the next
  // finish(); after the next backward pass it need not wait. Valid too if that iteration was given
  // up.
  virtual SyncResult late_result() {
    SCAVENGER_CHECK(false);
    return {};
  }

  // Whether the memory of these vectors stays where it is until the destructor, whatever join()
  // does: then a trainer on a device need not pin it again for each membership.
  virtual bool keeps_memory() const { return false; }

  // From now on, work_ahead() and finish() call `ready` on their own thread for weights that are
  // final before the others are: for all of them, for some, or for none. If finish() returns
  // nothing, the weights that were told of mean nothing. Call it outside of an iteration; all
  // workers of a job do, or none.
  virtual void tell_of_weights(const WeightsReady&) {}

  // Any thread: makes join() and finish() return as soon as possible. It remains in effect until
  // the next allow(), so that a call that is about to begin also returns.
  virtual void interrupt() = 0;
  // Any thread: ends the effect of interrupt(), so that join() may be called.
  virtual void allow() = 0;
  // Returns why the last finish() or join() gave up (a lost connection), unless it was interrupted.
  virtual std::string problem() const = 0;

  // Returns the interface to the state if the workers keep it; null if shards do.
  virtual StateHolder* state_holder() { return nullptr; }
};

}  // namespace scavenger
