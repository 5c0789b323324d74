// A job's start in the words of the controller and of the event log. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "elastic/control/controller.h"
#include "elastic/coordinator/job/job_start.h"
#include "elastic/events/event.h"
#include "runtime/training/data_shape.h"
#include "runtime/training/evaluation_sums.h"
#include "runtime/training/tensor_layout.h"

namespace scavenger::elastic {

// What is known of the data once it has been read and checked.
struct DataSize {
  std::uint64_t train_samples = 0;
  std::uint64_t test_samples = 0;
  // Of text, one word a line.
  std::string vocabulary = {};
  std::string target_vocabulary = {};
  DataShape shape = {};  // of the training data
};

// Throws CheckpointError if the model of the checkpoint knows other words than the data has.
void check_vocabulary(const Checkpoint& checkpoint, const DataSize& data, const std::string& where);

// `seconds_before`: of the job's life in earlier processes.
ControllerPlan make_plan(const JobStart& start, const DataSize& data, std::uint32_t shards,
                         double seconds_before);

// The factor of the learning rate that the checkpoint was trained with, where B and what the rate
// is for are still the same.
std::optional<double> kept_rate_factor(const JobStart& start);
nlohmann::json rate_history(const OptimizerConfig& optimizer, const Membership& membership);

// What a checkpoint keeps of the data, so that a model can be asked where they are not.
nlohmann::json shape_history(const DataShape& shape);
// Nothing if the checkpoint is of a version that did not keep it.
std::optional<DataShape> kept_shape(const Checkpoint& checkpoint);

// What a checkpoint keeps of early stopping.
nlohmann::json early_stop_history(Metric metric, const EarlyStopState& state);

fact::Start make_start_event(const JobStart& start, const DataSize& data,
                             const std::string& config_json, double seconds_before);

// The architecture's digest is of the layers' names and shapes, and of what the model's
// configuration says beyond them.
fact::Model make_model_event(const JobConfig& config, const TensorLayout& parameters,
                             const TensorLayout& buffers);

// Of scavenger-train: 0, 1 (failed), 2 (for what the user gave) or 130 (interrupted).
int exit_code_of(const EndJob& end);
// The metrics that this job has; when and where is for others to say.
fact::Evaluation make_evaluation_event(const JobConfig& config, const EvaluationSums& sums);

}  // namespace scavenger::elastic
