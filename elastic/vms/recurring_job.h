// Which cluster a job that comes again should run on next, from whole runs of it and of others:
// `scavenger-plan again`. perfmodel/machines/cluster_search.h decides.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "elastic/vms/vm_types.h"

namespace scavenger::elastic {

struct WholeRun {
  std::string job;
  std::string type;
  double vms = 0.0;
  double dollars = 0.0;
};

// CSV with the header job,type,vms,dollars. Throws InputError with the line.
std::vector<WholeRun> read_whole_runs(const std::filesystem::path& file);

struct NextRun {
  std::optional<WholeRun> best;  // of this job, so far
  std::optional<WholeRun> next;  // without dollars; nothing: every cluster was run
  double gain = 0.0;             // expected, as a share of the best's dollars
  bool is_worth_it() const { return next && gain >= 0.01; }
};

// Of the clusters that any job of the table ran on. Throws InputError if there is no run of another
// job, or the catalogue lacks a type.
NextRun next_run(const std::vector<WholeRun>& runs, const std::string& job,
                 const std::vector<VmType>& catalogue);

// One line for people, with a final newline.
std::string next_run_text(const NextRun& found);

}  // namespace scavenger::elastic
