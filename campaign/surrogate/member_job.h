// Members that the elastic trainer trains: a folder with the arrays and the configuration of a
// scavenger-train job, and the weights that it leaves.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>

#include "campaign/surrogate/perceptron.h"
#include "campaign/surrogate/training.h"

namespace scavenger::surrogate {

struct MemberJob {
  std::filesystem::path config;   // for scavenger-train CONFIG --run RUN
  std::filesystem::path run;      // its run folder
  std::filesystem::path weights;  // for scavenger-export RUN WEIGHTS --checkpoint last
};

// Writes x.npy, y.npy and job.json into `folder`, which is made. The job trains one mlp on one
// worker; all else about it is the configuration's default. Paths in it are relative, so the
// folder can be brought to another machine. Throws SystemError.
MemberJob write_member_job(const std::filesystem::path& folder, const TrainingSet& set,
                           const FitSettings& settings, std::size_t index);

// Reads the exported network. Throws CheckpointError or DataError if it is not one that was trained
// on `set`.
Perceptron read_member(const MemberJob& job, const TrainingSet& set, const FitSettings& settings);

// Runs both programs to their end; throws if one fails.
using RunMemberJob = std::function<void(const MemberJob&)>;

// A trainer for fit_surrogate(): member i has its job in `folder`/member-i, which is made anew.
TrainMember elastic_trainer(std::filesystem::path folder, RunMemberJob run);

}  // namespace scavenger::surrogate
