// The checkpoint of a run folder that a command line names.
#pragma once

#include <functional>
#include <string>

#include "elastic/coordinator/job/run_folder.h"
#include "runtime/base/error.h"
#include "runtime/checkpoint/checkpoint_store.h"

namespace scavenger::elastic {

using OnDamaged = std::function<void(const Error&)>;

// "best" (the last one if there is no best), "last", or an iteration. Damaged ones that are passed
// over are told to `on_damaged`. Throws InputError if there is none, CheckpointError if the one
// that is meant is damaged.
LoadedCheckpoint read_chosen_checkpoint(const RunFolder& run, const std::string& choice,
                                        const OnDamaged& on_damaged);

}  // namespace scavenger::elastic
