#include "runtime/config/json_fields.h"

namespace scavenger {

NLOHMANN_JSON_SERIALIZE_ENUM(OptimizerType, {{OptimizerType::kSgd, "sgd"},
                                             {OptimizerType::kAdam, "adam"},
                                             {OptimizerType::kAdamW, "adamw"}})
NLOHMANN_JSON_SERIALIZE_ENUM(ScheduleType, {{ScheduleType::kConstant, "constant"},
                                            {ScheduleType::kStep, "step"},
                                            {ScheduleType::kCosine, "cosine"},
                                            {ScheduleType::kInverseSqrt, "inverse_sqrt"}})
NLOHMANN_JSON_SERIALIZE_ENUM(BatchSizeRule, {{BatchSizeRule::kNone, "none"},
                                             {BatchSizeRule::kLinear, "linear"},
                                             {BatchSizeRule::kSqrt, "sqrt"},
                                             {BatchSizeRule::kAdaScale, "adascale"}})

namespace {

ScheduleConfig schedule_from(const Json& object) {
  ScheduleConfig schedule;
  read(object, "type", schedule.type);
  read(object, "warmup_epochs", schedule.warmup_epochs);
  read(object, "boundary_epochs", schedule.boundary_epochs);
  read(object, "factor", schedule.factor);
  read(object, "total_epochs", schedule.total_epochs);
  read(object, "final_fraction", schedule.final_fraction);
  return schedule;
}

Json schedule_to_json(const ScheduleConfig& schedule) {
  Json object = {{"type", schedule.type}};
  if (schedule.type == ScheduleType::kStep) {
    object["boundary_epochs"] = schedule.boundary_epochs;
    object["factor"] = schedule.factor;
  } else if (schedule.type == ScheduleType::kCosine) {
    object["total_epochs"] = schedule.total_epochs;
    object["final_fraction"] = schedule.final_fraction;
  }
  object["warmup_epochs"] = schedule.warmup_epochs;
  return object;
}

}  // namespace

OptimizerConfig optimizer_from(const Json& object) {
  OptimizerConfig optimizer;
  read(object, "type", optimizer.type);
  read(object, "learning_rate", optimizer.learning_rate);
  read(object, "momentum", optimizer.momentum);
  read(object, "dampening", optimizer.dampening);
  read(object, "nesterov", optimizer.nesterov);
  read(object, "weight_decay", optimizer.weight_decay);
  read(object, "beta1", optimizer.beta1);
  read(object, "beta2", optimizer.beta2);
  read(object, "epsilon", optimizer.epsilon);
  read(object, "clip_norm", optimizer.clip_norm);
  read(object, "batch_size_rule", optimizer.batch_size_rule);
  read_count_or_automatic(object, "reference_batch_size", optimizer.reference_batch_size);
  optimizer.schedule = schedule_from(object.at("schedule"));
  return optimizer;
}

Json optimizer_to_json(const OptimizerConfig& optimizer) {
  Json object = {{"type", optimizer.type}, {"learning_rate", optimizer.learning_rate}};
  if (optimizer.type == OptimizerType::kSgd) {
    object["momentum"] = optimizer.momentum;
    object["dampening"] = optimizer.dampening;
    object["nesterov"] = optimizer.nesterov;
  } else {
    object["beta1"] = optimizer.beta1;
    object["beta2"] = optimizer.beta2;
    object["epsilon"] = optimizer.epsilon;
  }
  object["weight_decay"] = optimizer.weight_decay;
  write_unless_zero(object, "clip_norm", optimizer.clip_norm);
  object["batch_size_rule"] = optimizer.batch_size_rule;
  object["reference_batch_size"] = count_or_automatic(optimizer.reference_batch_size);
  object["schedule"] = schedule_to_json(optimizer.schedule);
  return object;
}

}  // namespace scavenger
