// What is kept of simulations on the controller's disk:
//
//   RUN/simulations/0007/segment-3/manifest.json, checkpoint/..., result/...
//   RUN/simulations/0007/result/...      merged, once the simulation is over
//   RUN/simulations/0007/log.txt         the end of the log of the last that went wrong
//
// A segment appears with its name when all of it is on disk, and each file in it has the hash that
// the machine has sent. The last two checkpoints are kept, and the results of all segments.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "campaign/result/merge.h"
#include "campaign/task/task_channel.h"

namespace scavenger::campaign {

// Thread: any; one at a time for each simulation.
class SimulationStore final {
 public:
  explicit SimulationStore(std::filesystem::path run) : run_(std::move(run)) {}

  std::filesystem::path folder_of(PointIndex point) const;

  // Keeps the files as segment `number` (1 for the first), in place of an abandoned one of that
  // number. Throws SystemError.
  void keep(PointIndex point, std::uint64_t number, const std::vector<TaskFile>& files) const;

  // The files of a checkpoint. Throws CheckpointError if they are not what was kept.
  std::vector<TaskFile> read_checkpoint(PointIndex point, std::uint64_t number) const;
  // The newest number up to `number` whose checkpoint can be read; 0: none.
  std::uint64_t newest_intact(PointIndex point, std::uint64_t number) const;

  // The results of a segment. Throws CheckpointError if they are not what was kept.
  std::vector<ResultFile> read_results(PointIndex point, std::uint64_t number) const;

  // The merged result. keep_result() throws SystemError; result_of() gives no files if there is
  // none.
  // A simulation that was lengthened has a result for each `multiple` of its steps, of which the
  // last is in `result/`: surrogates were trained from the others.
  void keep_result(PointIndex point, std::uint32_t multiple,
                   const std::vector<ResultFile>& files) const;
  std::vector<ResultFile> result_of(PointIndex point) const;  // the last
  std::vector<ResultFile> result_of(PointIndex point, std::uint32_t multiple) const;

 private:
  std::filesystem::path segment_of(PointIndex point, std::uint64_t number) const;
  std::vector<TaskFile> read_segment(PointIndex point, std::uint64_t number, bool checkpoint) const;

  const std::filesystem::path run_;
};

// The files of a folder, relative to it, that simulations find in theirs. Throws SystemError.
std::vector<TaskFile> read_input_files(const std::filesystem::path& folder);

}  // namespace scavenger::campaign
