// The checkpoints of one run, each in a folder of `checkpoints/`:
//
//   iteration_000000500/  iteration_000001000/  best -> iteration_000000500
//
// Threads and processes: any number may read, one at a time may write. Writing waits for the disk,
// so call it from a thread that does not train.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/disk.h"

namespace scavenger {

struct Retention {
  std::uint32_t keep_last = 3;  // at least 1
  bool keep_best = true;        // in addition to the last ones
};

struct StoredCheckpoint {
  std::uint64_t iteration = 0;
  std::filesystem::path folder;
};

struct WrittenCheckpoint {
  std::filesystem::path folder;
  std::uint64_t bytes = 0;
};

struct LoadedCheckpoint {
  std::filesystem::path folder;
  Checkpoint content;
};

class CheckpointStore final {
 public:
  // Called for each unusable checkpoint, before the previous one is tried.
  using Warn = std::function<void(const Error&)>;

  // `disk` must outlive the store. The first write creates `folder`, whose parent must exist.
  CheckpointStore(Disk& disk, std::filesystem::path folder, Retention retention);

  // Writes the checkpoint, then removes those that the retention rule does not keep. `is_best`: it
  // is the best so far by the job's metric. Throws SystemError if the disk is full or fails; the
  // earlier checkpoints are then unchanged, and training may continue.
  WrittenCheckpoint write(const Checkpoint& checkpoint, bool is_best);

  // Returns the checkpoints by iteration, oldest first, without checking them for damage. Throws
  // SystemError if the folder exists but cannot be read.
  std::vector<StoredCheckpoint> list() const;

  // Returns the newest checkpoint that was the best when it was written, if there is one.
  std::optional<StoredCheckpoint> best() const;

  // Returns the newest undamaged checkpoint; nothing if there are no checkpoints. Throws
  // CheckpointError if all are damaged, or if the newest good manifest was written by a newer
  // Scavenger.
  std::optional<LoadedCheckpoint> load_latest_good(const Warn& warn);

 private:
  void require_free_space(const Checkpoint& checkpoint);
  void remove_leftovers();
  void tidy(std::uint64_t written);
  void prune(std::uint64_t written);
  void remove(const std::filesystem::path& checkpoint);
  void link_best();
  std::optional<std::string> last_name() const;
  SystemError explain(const SystemError& error, const Checkpoint& checkpoint);

  Disk& disk_;
  std::filesystem::path folder_;
  Retention retention_;
  // Iterations of damaged checkpoints that load_latest_good() has found.
  std::set<std::uint64_t> damaged_;
};

// Returns, for instance, "iteration_000001234".
std::string checkpoint_name(std::uint64_t iteration);

}  // namespace scavenger
