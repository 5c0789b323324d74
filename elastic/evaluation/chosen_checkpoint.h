// The checkpoint of a run folder that a command line names.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "elastic/coordinator/run_folder.h"
#include "runtime/checkpoint/checkpoint_store.h"

namespace scavenger {

// --checkpoint, "best" where it is not given.
void declare_checkpoint_choice(CLI::App& app, std::string& choice);

// "best" (the last one where there is no best), "last", or an iteration. Damaged ones that are
// passed over are told on standard error. Throws InputError where there is none, CheckpointError
// where the one that is meant is damaged.
LoadedCheckpoint read_chosen_checkpoint(const elastic::RunFolder& run, const std::string& choice,
                                        const char* program);

}  // namespace scavenger
