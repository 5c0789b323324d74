#include "elastic/coordinator/work/checkpoint_base.h"

#include <nlohmann/json.hpp>

#include "runtime/base/digest.h"
#include "runtime/base/json_text.h"
#include "runtime/base/version.h"

namespace scavenger::elastic {

Checkpoint checkpoint_base(const JobConfig& config, const std::string& config_json,
                           const DataSize& data, const Controller& controller,
                           const JobRecord& record) {
  Checkpoint checkpoint;
  const Membership& membership = controller.membership();
  checkpoint.iteration = controller.iterations_done();
  checkpoint.position = membership.position_at(checkpoint.iteration);
  checkpoint.membership_epoch = membership.epoch;
  checkpoint.seed = config.seed;
  checkpoint.config = parse_json(config_json);
  checkpoint.config_digest = sha256_hex(config_json);
  checkpoint.vocabulary = data.vocabulary;
  checkpoint.target_vocabulary = data.target_vocabulary;
  checkpoint.history = {{"seconds", record.now()}, {"cost_dollars", record.numbers().cost}};
  checkpoint.history["data_shape"] = shape_history(data.shape);
  checkpoint.history["learning_rate"] = rate_history(config.optimizer, membership);
  if (controller.best_score()) checkpoint.history["best_score"] = *controller.best_score();
  if (const auto& early = config.stop.early_stopping; early && controller.early_stop())
    checkpoint.history["early_stopping"] =
        early_stop_history(early->metric, *controller.early_stop());
  checkpoint.scavenger_version = version();
  checkpoint.scavenger_commit = commit();
  return checkpoint;
}

}  // namespace scavenger::elastic
