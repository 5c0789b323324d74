// Private to job_config_json.cpp: the fields of the optimizer in a configuration (config_fields.h).
#pragma once

#include "runtime/config/config_fields.h"
#include "runtime/config/optimizer_config.h"

namespace scavenger {

NLOHMANN_JSON_SERIALIZE_ENUM(OptimizerType, {{OptimizerType::kSgd, "sgd"},
                                             {OptimizerType::kAdam, "adam"},
                                             {OptimizerType::kAdamW, "adamw"},
                                             {OptimizerType::kPython, "python"}})
NLOHMANN_JSON_SERIALIZE_ENUM(ScheduleType, {{ScheduleType::kConstant, "constant"},
                                            {ScheduleType::kStep, "step"},
                                            {ScheduleType::kCosine, "cosine"},
                                            {ScheduleType::kInverseSqrt, "inverse_sqrt"}})
NLOHMANN_JSON_SERIALIZE_ENUM(BatchSizeRule, {{BatchSizeRule::kNone, "none"},
                                             {BatchSizeRule::kLinear, "linear"},
                                             {BatchSizeRule::kSqrt, "sqrt"},
                                             {BatchSizeRule::kAdaScale, "adascale"}})

template <typename Fields, MaybeConst<ScheduleConfig> T>
void visit_fields(Fields& field, T& schedule) {
  field("type", schedule.type);
  if (schedule.type == ScheduleType::kStep) {
    field("boundary_epochs", schedule.boundary_epochs);
    field("factor", schedule.factor);
  } else if (schedule.type == ScheduleType::kCosine) {
    field("total_epochs", schedule.total_epochs);
    field("final_fraction", schedule.final_fraction);
  }
  field("warmup_epochs", schedule.warmup_epochs);
}

template <typename Fields, MaybeConst<OptimizerConfig> T>
void visit_fields(Fields& field, T& optimizer) {
  field("type", optimizer.type);
  const bool is_known = optimizer.type != OptimizerType::kPython;
  if (is_known) field("learning_rate", optimizer.learning_rate);
  if (optimizer.type == OptimizerType::kSgd) {
    field("momentum", optimizer.momentum);
    field("dampening", optimizer.dampening);
    field("nesterov", optimizer.nesterov);
  } else if (is_known) {
    field("beta1", optimizer.beta1);
    field("beta2", optimizer.beta2);
    field("epsilon", optimizer.epsilon);
  }
  if (is_known)
    field("weight_decay", optimizer.weight_decay);
  else
    field.unless_empty("state", optimizer.state);
  if constexpr (Fields::kReads) {
    if (!is_known) optimizer.learning_rate = 1.0;
  }
  field.unless_empty("clip_norm", optimizer.clip_norm);
  field("batch_size_rule", optimizer.batch_size_rule);
  field.count_or_automatic("reference_batch_size", optimizer.reference_batch_size);
  field("schedule", optimizer.schedule);
}

}  // namespace scavenger
