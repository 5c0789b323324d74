// The configurations that a search may choose from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "perfmodel/time/observation.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// Fills in search.workers and search.batch_sizes if they are empty: the powers of two that
// `room` has place for, and batch_size times 1, 2, 4 and 8, as far as the data set goes. Done once,
// at the start of a job: a resumed job has another K and B, and must know the same candidates.
void resolve_search(std::uint32_t room, std::uint64_t train_samples, JobConfig& config);

// The sizes that are searched (searched_sizes()). Throws ConfigError if there is too little to
// choose from: three configurations and two K are needed to know what a third would do, and two
// configurations if the mode is auto.
std::vector<perfmodel::Configuration> search_grid(const SearchConfig& search);

// Of a grid, those whose largest share goes through one pass of a worker, as the workers have
// measured their memory: where search.max_local_batch does not say it. All, where too few would be
// left to choose from: what has no room is computed in several passes.
std::vector<perfmodel::Configuration> candidates_in_memory(
    std::span<const perfmodel::Configuration> grid, const SearchConfig& search,
    std::optional<std::uint64_t> room_samples);

}  // namespace scavenger::elastic
