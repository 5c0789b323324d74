#include "elastic/search/search_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

std::vector<std::uint32_t> sorted(const std::set<std::uint32_t>& values) {
  return {values.begin(), values.end()};
}

// Three configurations and two K are needed to know what a third would do. `auto` measures where it
// goes, and needs no more than a choice.
bool suffices(std::span<const perfmodel::Configuration> grid, SearchMode mode) {
  if (mode == SearchMode::kAuto) return grid.size() >= 2;
  std::set<double> workers;
  for (const perfmodel::Configuration& one : grid) workers.insert(one.workers);
  return workers.size() >= 2 && grid.size() >= 3;
}

}  // namespace

void resolve_search(std::uint32_t room, std::uint64_t train_samples, JobConfig& config) {
  SearchConfig& search = config.search;
  if (search.workers.empty()) {
    std::set<std::uint32_t> workers{config.cluster.workers};
    for (std::uint32_t k = 1; k <= room; k *= 2) workers.insert(k);
    search.workers = sorted(workers);
  }
  if (search.batch_sizes.empty()) {
    std::set<std::uint32_t> batch_sizes{config.batch_size};
    for (std::uint64_t factor = 2; factor <= 8; factor *= 2)
      if (config.batch_size * factor <= train_samples)
        batch_sizes.insert(static_cast<std::uint32_t>(config.batch_size * factor));
    search.batch_sizes = sorted(batch_sizes);
  }
}

std::vector<perfmodel::Configuration> search_grid(const SearchConfig& search) {
  std::vector<perfmodel::Configuration> grid;
  for (const JobSize& size : searched_sizes(search))
    grid.push_back({static_cast<double>(size.workers), static_cast<double>(size.batch_size)});
  if (!suffices(grid, search.mode))
    throw ConfigError(
        {.what = fmt::format("{} configurations are too few to search, or have one K", grid.size()),
         .where = "search.workers, search.batch_sizes",
         .remedy = "name two numbers of workers and three configurations at least, such as "
                   "--set search.workers=[1,2,4] --set search.batch_sizes=[64,128,256]"});
  return grid;
}

std::vector<perfmodel::Configuration> candidates_in_memory(
    std::span<const perfmodel::Configuration> grid, const SearchConfig& search,
    std::optional<std::uint64_t> room_samples) {
  std::vector<perfmodel::Configuration> fitting;
  for (const perfmodel::Configuration& one : grid)
    if (search.max_local_batch > 0 || !room_samples ||
        std::ceil(one.global_batch / one.workers) <= static_cast<double>(*room_samples))
      fitting.push_back(one);
  return suffices(fitting, search.mode) ? fitting : std::vector(grid.begin(), grid.end());
}

}  // namespace scavenger::elastic
