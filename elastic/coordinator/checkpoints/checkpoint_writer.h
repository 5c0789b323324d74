// Takes checkpoints, one at a time: training waits only until the state is copied where it lives;
// gathering it and writing it to disk go on beside training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "elastic/control/job_events.h"
#include "elastic/coordinator/checkpoints/checkpoint_collector.h"
#include "runtime/checkpoint/checkpoint_store.h"
#include "runtime/checkpoint/disk.h"
#include "runtime/net/event_loop.h"
#include "runtime/protocol/control_message.h"

namespace scavenger::elastic {

struct CheckpointOutcome {
  std::uint64_t iteration = 0;
  WrittenCheckpoint written;
  std::string error;           // empty if it was written
  bool by_loss = false;        // a process was lost that had a part of it
  double stall_seconds = 0.0;  // training stood still
  double write_seconds = 0.0;  // from the request to the end
  bool is_best = false;
};

// Thread: the event loop's, besides a thread of its own that writes. The destructor waits for that.
class CheckpointWriter final {
 public:
  // `safe`: the state is copied, training may go on; `done`: it is on disk, or could not be
  // written.
  // The loop and the disk must outlive it.
  CheckpointWriter(EventLoop& loop, Disk& disk, const std::filesystem::path& folder,
                   Retention retention, std::function<void()> safe,
                   std::function<void(const CheckpointOutcome&)> done);

  // `base` and the rest: as CheckpointCollector. `holders`: by shard, who has its chunks; each will
  // say when it has copied them. Requires that none is under way.
  void begin(Checkpoint base, const ps::ChunkLayout& layout,
             const std::vector<std::string>& state_names, std::vector<ProcessName> holders,
             std::optional<ProcessName> buffers_from, bool is_best);

  // All of these throw ProtocolError where nobody asked for it, or it does not fit.
  void state_copied(const ProcessName& holder, const SnapshotTaken& message);
  void buffers_arrived(const ProcessName& worker, std::vector<float> values);
  std::span<std::byte> destination(const ProcessName& holder, const FrameHeader& header);
  void arrived(const FrameHeader& header);

  // This process is gone. If it had a part of the checkpoint, there will be none; `done` says so
  // as soon as all others have sent theirs.
  void lose(const ProcessName& process);

  // Reads the last good checkpoint, after what is being written; `found` is called in
  // the loop, with nothing if there is none, and `damaged` before for each that is.
  void find_last(std::function<void(const Error&)> damaged,
                 std::function<void(std::optional<LoadedCheckpoint>)> found);

 private:
  struct Round {
    Round(Checkpoint base, const ps::ChunkLayout& layout,
          const std::vector<std::string>& state_names)
        : collector(std::move(base), layout, state_names) {}

    CheckpointCollector collector;
    std::vector<ProcessName> holders;  // by shard
    std::multiset<ProcessName> missing_copies;
    bool writing = false;
    double start_seconds = 0.0;
    CheckpointOutcome outcome;
  };

  Round& round();
  std::uint32_t shard_of(const ProcessName& holder);
  void copied(const ProcessName& process);
  void write_if_complete();
  void end(CheckpointOutcome outcome);
  void write(CheckpointOutcome& outcome);

  const Clock& clock_;
  CheckpointStore store_;
  std::function<void()> safe_;
  std::function<void(const CheckpointOutcome&)> done_;
  std::unique_ptr<Round> round_;
  const std::unique_ptr<BackgroundThread> thread_;  // last: it uses all of the above
};

}  // namespace scavenger::elastic
