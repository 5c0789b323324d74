// The port for the processes of a job, on this machine and on others: starts them, talks to them,
// notices when one is lost, ends them. ProcessCluster is the real one; a simulation has another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "elastic/control/job_events.h"
#include "ps/core/chunk_layout.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/net/frame.h"
#include "runtime/protocol/control_message.h"

namespace scavenger::elastic {

// Where a process is to run.
struct ProcessPlace {
  std::string address;                        // at which the others reach it
  std::vector<std::string> launch;            // words before its command; none: on this machine
  std::filesystem::path program_folder = {};  // empty: as here
};

struct LostProcess {
  ProcessName process;
  std::int64_t pid = 0;
  std::string how;         // "was killed by signal 9 (Killed)"
  std::string log_tail;    // its last words
  bool by_itself = false;  // it found an error, and ended: another one would do the same
  bool has_joined = false;
  bool bad_input = false;      // it says that the error is in what the user gave
  std::string traceback = {};  // of an exception in the user's code
};

// What the cluster tells its owner, always in the event loop.
class ClusterListener {
 public:
  virtual ~ClusterListener() = default;
  virtual void on_joined(const ProcessName& process, const Joined& message) = 0;
  virtual void on_message(const ProcessName& process, const ControlMessage& message) = 0;
  // Where the payload of a kState frame is to be written, exactly as long as the frame says.
  virtual std::span<std::byte> state_destination(const ProcessName& process,
                                                 const FrameHeader& header) = 0;
  virtual void on_state(const ProcessName& process, const FrameHeader& header) = 0;
  // It has ended, and will not be heard of before it is started again.
  virtual void on_lost(const LostProcess& lost) = 0;
  // One that was released has ended.
  virtual void on_left(const ProcessName& process) = 0;
  virtual void on_all_ended() = 0;
};

// One shard's part of a checkpoint: kState frames of membership `epoch`. Nothing is copied: the
// checkpoint is kept until all of it was written.
struct StatePart {
  std::shared_ptr<const Checkpoint> checkpoint;
  ps::ChunkLayout layout;
  std::uint32_t shard = 0;
  std::uint32_t epoch = 0;
};

// Thread: the event loop's. The destructor kills what still runs.
class Cluster {
 public:
  virtual ~Cluster() = default;

  // Starts a process, the first time or in place of one that was lost; returns its pid.
  virtual std::int64_t start(const ProcessName& process, const ProcessPlace& place,
                             std::uint32_t threads, std::uint16_t listen_port) = 0;
  // For a worker that may not be started from here: that it may come, and its launch ticket.
  virtual std::string expect(const ProcessName& process) = 0;
  // The process's own, on its host; after it has joined.
  virtual std::int64_t pid_of(const ProcessName& process) const = 0;
  // Where the others reach a shard.
  virtual std::string address_of_shard(std::uint32_t shard) const = 0;
  virtual std::filesystem::path log_of(const ProcessName& process) const = 0;
  virtual double seconds_since_start(const ProcessName& process) const = 0;

  // Both require that the process has joined. No effect if it is gone.
  virtual void send(const ProcessName& process, const ControlMessage& message) = 0;
  virtual void send_state(const ProcessName& process, StatePart part) = 0;

  // A moment later asks a process to end that is not needed any more, and kills it if it does not
  // within limits.stop_seconds; on_left() follows.
  virtual void release(const ProcessName& process) = 0;
  // Kills a process; on_lost() follows, and says why.
  virtual void kill(const ProcessName& process, const std::string& why) = 0;
  // Kills those that are silent. Call about once a second.
  virtual void check_signs_of_life() = 0;

  // Asks all to end; those that have not after limits.stop_seconds are killed. on_all_ended()
  // follows.
  virtual void end_all() = 0;
  // Kills all. on_all_ended() follows.
  virtual void kill_all() = 0;
};

}  // namespace scavenger::elastic
