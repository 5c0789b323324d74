#include "elastic/evaluation/restored_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "elastic/coordinator/job/host.h"
#include "elastic/coordinator/job/job_facts.h"
#include "elastic/coordinator/work/evaluation_round.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/checkpoint/layout_difference.h"
#include "runtime/config/config_file.h"
#include "runtime/data/batch_assembler.h"
#include "runtime/data/sample_order.h"
#include "runtime/worker/worker_loop.h"

namespace scavenger::elastic {
namespace {

DataShape shape_of_data(const LoadedCheckpoint& checkpoint, const JobConfig& config) {
  if (const auto kept = kept_shape(checkpoint.content)) return *kept;
  return DataSet::open(config.data, Split::kTrain, default_cache_folder()).shape();
}

std::unique_ptr<Trainer> make_trainer(const MakeTrainer& make, JobConfig config,
                                      const DataShape& shape, std::uint32_t threads) {
  // What it started from does not matter any more, except for what was never trained.
  if (config.model.freeze.empty()) config.model.start = {};
  return make(config, shape, threads > 0 ? threads : threads_of(config.cluster, 0, usable_cores()));
}

}  // namespace

RestoredModel::RestoredModel(LoadedCheckpoint checkpoint, std::uint32_t threads,
                             const MakeTrainer& make)
    : checkpoint_(std::move(checkpoint)),
      config_(parse_resolved_config(json_text(checkpoint_.content.config),
                                    checkpoint_.folder.string())),
      shape_(shape_of_data(checkpoint_, config_)),
      weights_(checkpoint_.content.parameters.flat_size()),
      trainer_(make_trainer(make, config_, shape_, threads)) {
  const Checkpoint& content = checkpoint_.content;
  require_same_model(trainer_->parameters(), trainer_->buffers(), content, checkpoint_.folder);
  std::ranges::copy(content.weights, weights_.span().begin());
  trainer_->use_weights(weights_.span());
  trainer_->write_buffers(content.buffer_values);
}

fact::Evaluation RestoredModel::evaluate(Split split) {
  const SteadyClock clock;
  const double begin = clock.now_seconds();
  const DataSet data = DataSet::open(config_.data, split, default_cache_folder());
  if (shape_.vocabulary > 0)
    check_vocabulary(
        checkpoint_.content,
        {0, 0, std::string(data.vocabulary()), std::string(data.target_vocabulary()), data.shape()},
        checkpoint_.folder.string());
  BatchAssembler assembler = BatchAssembler::for_evaluation(data, config_.data);
  const auto shares = split_batch(config_.batch_size, config_.cluster.workers);
  EvaluationRound round(split, data.size(), config_.evaluation.batch_size, shares, 0.0);
  for (std::uint32_t rank = 0; rank < shares.size(); ++rank) {
    const auto never = [] { return false; };
    const auto part = evaluate_range(*trainer_, assembler, round.request_for(rank), never);
    round.add(rank, *part);
  }
  fact::Evaluation result = make_evaluation_event(config_, round.total());
  result.iteration = iteration();
  result.split = split;
  result.seconds = clock.now_seconds() - begin;
  return result;
}

}  // namespace scavenger::elastic
