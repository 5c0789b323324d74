#include "elastic/coordinator/checkpoints/optimizer_state.h"

#include <string>

#include "ps/core/optimizer.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {

void require_optimizer_state(const OptimizerConfig& optimizer, const Checkpoint& checkpoint,
                             const std::filesystem::path& folder) {
  for (const std::string& name : ps::state_names_of(optimizer))
    if (!checkpoint.optimizer.slots.contains(name))
      throw CheckpointError(
          {.what = "the checkpoint lacks the optimizer's state \"" + name + "\"",
           .where = folder.string(),
           .remedy = "leave the optimizer as it was, or start a new job from these weights "
                     "(start.weights)"});
}

}  // namespace scavenger::elastic
