// The checkpoints of one run, a folder each in `checkpoints/`:
//
//   iteration_000000500/  iteration_000001000/  best -> iteration_000000500
//
// Thread and processes: any number may read; one at a time may write. Writing takes as long as the
// disk does, so call it off the training path.
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
  bool keep_best = true;        // besides the last ones
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
  // Is told of each checkpoint that cannot be used, before the one before it is tried.
  using Warn = std::function<void(const Error&)>;

  // `disk` must outlive the store. `folder` is made by the first write, its parent must exist.
  CheckpointStore(Disk& disk, std::filesystem::path folder, Retention retention);

  // Writes and then removes what is no longer to be kept. `is_best`: by the job's metric, the best
  // so far. Throws SystemError where the disk is full or fails; the checkpoints from before are
  // then as they were, and training may go on.
  WrittenCheckpoint write(const Checkpoint& checkpoint, bool is_best);

  // By iteration, oldest first; whether they are good is not checked. Throws SystemError where the
  // folder is there and cannot be read.
  std::vector<StoredCheckpoint> list() const;

  // The newest one that was the best when it was written; nothing where there is none.
  std::optional<StoredCheckpoint> best() const;

  // The newest checkpoint without damage; nothing where there are none at all. Throws
  // CheckpointError where all are damaged, or where the newest good manifest says that a newer
  // Scavenger wrote it.
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
  std::set<std::uint64_t> damaged_;  // iterations, found by load_latest_good()
};

// "iteration_000001234".
std::string checkpoint_name(std::uint64_t iteration);

}  // namespace scavenger
