// The messages between the controller and the processes of a job: typed, and encoded as MessagePack
// in kControl frames. Bulk data (weights, gradients, optimizer state) is sent in other frames
// (runtime/net/frame.h). docs/design/protocol.md shows a complete sequence of messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/training/device_use.h"
#include "runtime/training/evaluation_sums.h"
#include "runtime/training/membership.h"
#include "runtime/training/sample_memory.h"
#include "runtime/training/synchroniser.h"
#include "runtime/training/tensor_layout.h"
#include "runtime/vocabulary/role.h"
#include "runtime/vocabulary/split.h"

namespace scavenger {

// Each message has its name in the protocol, kName, so that the order of the variant below does not
// matter.

// Process -> controller, first message: introduces the process. A worker also sends the layout of
// the model that it has built.
struct Joined {
  static constexpr std::string_view kName = "joined";
  Role role = Role::kWorker;
  std::uint32_t index = 0;
  std::int64_t pid = 0;
  std::string version_line;  // must equal the controller's
  std::uint16_t port = 0;    // shard: its port for workers; worker: a port where workers can meet
  TensorLayout parameters;   // worker
  TensorLayout buffers;      // worker
  bool operator==(const Joined&) const = default;
};

// Controller -> shard (which has the configuration from its launch ticket), at the start and at
// each change of membership. `goes_on`: the shard continues with the state that it has.
// `has_state`: kState frames of all chunks of the shard follow, with the membership's epoch: the
// weights (vector 0), then each vector of optimizer state in the optimizer's order. If neither is
// set, the first worker sends initial weights.
struct ConfigureShard {
  static constexpr std::string_view kName = "configure_shard";
  std::uint32_t index = 0;
  std::uint32_t shards = 1;
  std::uint64_t flat_size = 0;
  std::uint64_t samples_per_epoch = 0;
  std::uint64_t optimizer_steps = 0;
  bool goes_on = false;
  bool has_state = false;
  Membership membership;
  bool operator==(const ConfigureShard&) const = default;
};

// Controller -> worker, at the start and at each change of membership.
struct ConfigureWorker {
  static constexpr std::string_view kName = "configure_worker";
  SyncGroup group;
  bool has_buffers = false;
  std::vector<float> buffers;  // the model's buffers, from a checkpoint or another worker
  // If workers keep the state: number of kState frames that follow, for the group's source.
  std::uint32_t state_pieces = 0;
  bool operator==(const ConfigureWorker&) const = default;
};

// Process -> controller: it is configured and connected, and has the current weights.
struct Ready {
  static constexpr std::string_view kName = "ready";
  std::uint32_t membership_epoch = 0;
  bool operator==(const Ready&) const = default;
};

// Controller -> worker: train until `until_iteration` iterations of the job are done. The number
// only grows within a membership; a Halt revokes it.
struct Train {
  static constexpr std::string_view kName = "train";
  std::uint64_t until_iteration = 0;
  bool operator==(const Train&) const = default;
};

// Squared norms of the gradients of the two halves of one worker's batch, and of their weighted
// mean, at the weights of `iteration`: one number per group of parameters, or one for all.
struct HalfBatchNorms {
  std::uint64_t iteration = 0;
  std::uint32_t first_samples = 0;
  std::uint32_t second_samples = 0;
  double seconds = 0.0;  // its duration, in addition to the iteration's own passes
  std::vector<double> first_sqr_norm;
  std::vector<double> second_sqr_norm;
  std::vector<double> whole_sqr_norm;
  bool operator==(const HalfBatchNorms&) const = default;
};

// Worker -> controller: measurements of the iterations [first, first + loss_sum.size()) on this
// worker. All vectors but the last have the same length.
struct IterationStats {
  static constexpr std::string_view kName = "iteration_stats";
  std::uint64_t first = 0;
  double learning_rate = 0.0;    // of the first iteration
  std::vector<double> loss_sum;  // over this worker's samples
  std::vector<double> seconds;   // the whole iteration
  std::vector<double> data_wait_seconds;
  std::vector<double> forward_seconds;
  std::vector<double> backward_seconds;
  std::vector<double> sync_wait_seconds;
  std::vector<double> local_sqr_norm;
  std::vector<double> global_sqr_norm;
  std::vector<HalfBatchNorms> half_batches;  // of a few of these iterations, in order
  bool operator==(const IterationStats&) const = default;
};

// Controller -> worker: asks for sums over the samples [first, last) of a split, at the current
// weights.
struct Evaluate {
  static constexpr std::string_view kName = "evaluate";
  Split split = Split::kTrain;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint32_t batch_size = 0;
  bool operator==(const Evaluate&) const = default;
};

struct Evaluated {
  static constexpr std::string_view kName = "evaluated";
  EvaluationSums sums;
  bool operator==(const Evaluated&) const = default;
};

struct SendBuffers {
  static constexpr std::string_view kName = "send_buffers";
  bool operator==(const SendBuffers&) const = default;
};  // controller -> worker

struct Buffers {
  static constexpr std::string_view kName = "buffers";
  std::vector<float> values;
  bool operator==(const Buffers&) const = default;
};

// Controller -> shard, at an iteration boundary: copy the current state, and send the copy as
// kState frames.
struct Snapshot {
  static constexpr std::string_view kName = "snapshot";
  std::uint64_t iteration = 0;
  bool operator==(const Snapshot&) const = default;
};

// Shard -> controller: the state has been copied and training may continue; the kState frames
// follow.
struct SnapshotTaken {
  static constexpr std::string_view kName = "snapshot_taken";
  std::uint64_t iteration = 0;
  std::uint64_t optimizer_steps = 0;
  bool operator==(const SnapshotTaken&) const = default;
};

// Controller -> worker and shard: abort the current iteration or evaluation, and wait for a new
// configuration.
struct Halt {
  static constexpr std::string_view kName = "halt";
  bool operator==(const Halt&) const = default;
};

struct Halted {  // the answer to Halt
  static constexpr std::string_view kName = "halted";
  std::uint64_t iteration = 0;  // the first iteration that is not done here
  // It has the weights of `iteration`, and the optimizer state if it is kept here.
  bool has_weights = false;
  std::vector<float> buffers;  // worker: the model's buffers as they were before `iteration`
  bool operator==(const Halted&) const = default;
};

// Worker -> controller: the iteration cannot be completed, because a connection to a peer was lost.
// The worker waits for Halt.
struct Stuck {
  static constexpr std::string_view kName = "stuck";
  std::string reason;
  bool operator==(const Stuck&) const = default;
};

// Worker -> controller: the worker has got SIGTERM, since its machine is about to be taken away. It
// continues to work until it is released at an iteration boundary.
struct Leaving {
  static constexpr std::string_view kName = "leaving";
  std::string reason;
  bool operator==(const Leaving&) const = default;
};

struct Stop {
  static constexpr std::string_view kName = "stop";
  bool operator==(const Stop&) const = default;
};  // controller -> process: end in order

// Process -> controller, at least every kHeartbeatSeconds, from a thread that does not compute.
struct Heartbeat {
  static constexpr std::string_view kName = "heartbeat";
  std::uint64_t iteration = 0;
  double seconds_in_iteration = 0.0;
  bool operator==(const Heartbeat&) const = default;
};
inline constexpr double kHeartbeatSeconds = 0.5;

// Worker of rank 0 -> controller: what a script of the user's has logged, a value for each name.
struct ScriptValues {
  static constexpr std::string_view kName = "script_values";
  std::uint64_t iteration = 0;
  std::vector<std::string> names;
  std::vector<double> values;
  bool operator==(const ScriptValues&) const = default;
};

// Worker -> controller: a sentence that whoever runs the job should read.
struct Notice {
  static constexpr std::string_view kName = "notice";
  std::string text;
  bool operator==(const Notice&) const = default;
};

// Process -> controller: its last message, or its only one if it cannot join.
struct Failed {
  static constexpr std::string_view kName = "failed";
  Role role = Role::kWorker;
  std::uint32_t index = 0;
  std::string reason;
  bool by_peer = false;    // the only cause is a lost connection to another process
  bool bad_input = false;  // the user's input is wrong
  std::string traceback;   // of an exception in the user's code, as its language prints it
  bool operator==(const Failed&) const = default;
};

using ControlMessage =
    std::variant<Joined, ConfigureShard, ConfigureWorker, Ready, Train, IterationStats, Evaluate,
                 Evaluated, SendBuffers, Buffers, Snapshot, SnapshotTaken, Halt, Halted, Stuck,
                 Leaving, Stop, Heartbeat, SampleMemory, DeviceUse, ScriptValues, Notice, Failed>;

inline constexpr std::uint32_t kControlMessageLimitBytes = 64u << 20;

std::vector<std::byte> encode(const ControlMessage& message);

// Throws ProtocolError unless the bytes are exactly the encoding of a valid message: all numbers
// are in range, no field is unknown, memberships are consistent, and ranks and indices exist.
ControlMessage decode_control_message(std::span<const std::byte> bytes);

}  // namespace scavenger
