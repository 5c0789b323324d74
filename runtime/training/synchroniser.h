// The port for making K workers take one step together: the worker loop knows only this. The
// parameter server's clients implement it, over TCP and in shared memory; so does all-reduce.
// docs/synchronisation.md compares them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/training/membership.h"

namespace scavenger {

// Where a shard listens.
struct ShardAddress {
  std::string host;
  std::uint16_t port = 0;
  // On the worker's host, where it reads gradients and writes weights in the worker's memory.
  bool is_near = false;
  bool operator==(const ShardAddress&) const = default;
};

// What a worker is told about the others, from one reshape to the next.
struct SyncGroup {
  std::uint32_t rank = 0;  // this worker's, in the membership
  Membership membership;
  // By rank: the worker's index, which stays with a process while ranks change. Decides which part
  // of shared memory is whose.
  std::vector<std::uint32_t> slots;
  // By rank, or empty: on which host a worker is, and its process there. The workers of one host
  // then bring one gradient to the shards, their weighted mean.
  std::vector<std::uint32_t> hosts;
  std::vector<std::int64_t> pids;
  // In the order of their indices; for all-reduce the one place where its workers meet.
  std::vector<ShardAddress> shards;
  bool writes_initial_weights = false;  // this worker, for a new job

  // Where the workers keep the state: how many steps were taken with it, and whether somebody lacks
  // it, so that it is handed round by who has it.
  std::uint64_t optimizer_steps = 0;
  bool shares_state = false;
  std::uint32_t source_rank = 0;
  std::uint32_t threads = 1;  // that each worker beside this one, and it, computes with
  bool operator==(const SyncGroup&) const = default;
};

// Writes the model's initial weights into a flat vector.
using InitialWeights = std::function<void(std::span<float>)>;

// What one synchronised iteration cost this worker, and the squared norms that it yielded.
struct SyncResult {
  double wait_seconds = 0.0;  // from the end of backward to new weights: exposed synchronisation
  double local_gradient_sqr_norm = 0.0;   // |g_k|^2 of this worker's mean gradient
  double global_gradient_sqr_norm = 0.0;  // |sum_k (b_k / B) g_k|^2
};

class StateHolder;

// Thread: all calls but interrupt() from the worker's compute thread: join, then begin, ready...,
// finish for each iteration, then join again.
class Synchroniser {
 public:
  virtual ~Synchroniser() = default;

  // Takes part in a new group. Returns true when weights() are the job's at
  // group.membership.first_iteration; false where it was interrupted. Throws ConnectionError,
  // ProtocolError.
  virtual bool join(const SyncGroup& group, const InitialWeights& initial_weights) = 0;

  // The flat vectors, owned here so that they can live in memory that is shared with others. The
  // weights may be elsewhere after each finish() and join(), the gradients after each join().
  virtual std::span<float> weights() = 0;
  virtual std::span<float> gradients() = 0;

  virtual void begin(std::uint64_t iteration) = 0;
  // Gradients at [first, last) are final: they may be sent, and the weights there overwritten.
  virtual void gradient_ready(std::uint64_t first, std::uint64_t last) = 0;
  // Blocks until weights() are those after this iteration. Without a value where it was interrupted
  // or a peer was lost (problem() says which): whether the iteration was made is then for the
  // others to say, and the next call is join().
  virtual std::optional<SyncResult> finish() = 0;

  // Any thread: makes join() and finish() return as soon as they can. Holds until the next
  // allow(), so that it is not missed by a call that is about to be made.
  virtual void interrupt() = 0;
  // Any thread: the next join() may be made.
  virtual void allow() = 0;
  // Why the last finish() or join() gave up, where that was not interrupt(): a lost connection.
  virtual std::string problem() const = 0;

  // Where the state lives in the workers, and not at shards: what is done with it. Else null.
  virtual StateHolder* state_holder() { return nullptr; }
};

}  // namespace scavenger
