// What earlier jobs have left in the store, as this job's search knows it: copied to the run folder
// once, so that a resumed job, and a replay, decide from the same.
#pragma once

#include <filesystem>
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

}  // namespace scavenger::elastic
