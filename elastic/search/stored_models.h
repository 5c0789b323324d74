// What earlier jobs have left in the store, as this job's search knows it: copied to the run folder
// once, so that a resumed job, and a replay, decide from the same.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "perfmodel/store/model_record.h"
#include "perfmodel/store/model_store.h"

namespace scavenger::elastic {

// All models of the store.
std::vector<perfmodel::ModelRecord> all_models(perfmodel::ModelStore& store);

// RUN/stored_models.json, a list of what `scavenger-plan export` writes. Reading one that is not
// there gives none; throws DataError if it is damaged.
void write_stored_models(const std::filesystem::path& run_folder,
                         const std::vector<perfmodel::ModelRecord>& models);
std::vector<perfmodel::ModelRecord> read_stored_models(const std::filesystem::path& run_folder);

// B_s by the end of each earlier job of this model on this data, whatever its K, B and optimizer.
// Of several memberships and phases of the learning rate, what was measured longest counts.
std::vector<double> stored_noise_scales(std::span<const perfmodel::ModelRecord> stored,
                                        const perfmodel::ModelSignature& signature);

}  // namespace scavenger::elastic
