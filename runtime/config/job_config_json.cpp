#include "runtime/config/job_config_json.h"

#include <string>

#include "runtime/config/config_file.h"

namespace scavenger {

NLOHMANN_JSON_SERIALIZE_ENUM(DataFormat, {{DataFormat::kIdx, "idx"},
                                          {DataFormat::kCifar10, "cifar10"},
                                          {DataFormat::kCsv, "csv"},
                                          {DataFormat::kSynthetic, "synthetic"}})
NLOHMANN_JSON_SERIALIZE_ENUM(ModelType, {{ModelType::kMlp, "mlp"},
                                         {ModelType::kCnn, "cnn"},
                                         {ModelType::kResNet18, "resnet18"}})
NLOHMANN_JSON_SERIALIZE_ENUM(OptimizerType, {{OptimizerType::kSgd, "sgd"},
                                             {OptimizerType::kAdam, "adam"},
                                             {OptimizerType::kAdamW, "adamw"}})
NLOHMANN_JSON_SERIALIZE_ENUM(ScheduleType, {{ScheduleType::kConstant, "constant"},
                                            {ScheduleType::kStep, "step"},
                                            {ScheduleType::kCosine, "cosine"}})
NLOHMANN_JSON_SERIALIZE_ENUM(ShardPlacement, {{ShardPlacement::kAutomatic, "auto"},
                                              {ShardPlacement::kController, "controller"},
                                              {ShardPlacement::kSpread, "spread"}})
NLOHMANN_JSON_SERIALIZE_ENUM(SyncStrategy, {{SyncStrategy::kParameterServer, "parameter_server"},
                                            {SyncStrategy::kGloo, "gloo"},
                                            {SyncStrategy::kNccl, "nccl"}})
NLOHMANN_JSON_SERIALIZE_ENUM(SyncTransport, {{SyncTransport::kAutomatic, "auto"},
                                             {SyncTransport::kSharedMemory, "shared_memory"},
                                             {SyncTransport::kTcp, "tcp"}})
NLOHMANN_JSON_SERIALIZE_ENUM(WirePrecision, {{WirePrecision::kFloat32, "float32"},
                                             {WirePrecision::kBfloat16, "bfloat16"}})
NLOHMANN_JSON_SERIALIZE_ENUM(OnWorkerLoss, {{OnWorkerLoss::kReplace, "replace"},
                                            {OnWorkerLoss::kShrink, "shrink"},
                                            {OnWorkerLoss::kStop, "stop"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Device, {{Device::kAutomatic, "auto"},
                                      {Device::kCpu, "cpu"},
                                      {Device::kCuda, "cuda"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Split, {{Split::kTrain, "train"}, {Split::kTest, "test"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Metric, {{Metric::kAccuracy, "accuracy"}, {Metric::kLoss, "loss"}})

namespace {

constexpr const char* kAutomatic = "auto";  // 0 in JobConfig

// Leaves `field` as it is where the document does not have `key`: keys of other formats and types,
// and limits that are not set.
template <typename Field>
void read(const Json& object, const char* key, Field& field) {
  if (object.contains(key)) field = object.at(key).get<Field>();
}

void read_count_or_automatic(const Json& object, const char* key, std::uint32_t& field) {
  field = object.at(key) == kAutomatic ? 0 : object.at(key).get<std::uint32_t>();
}

Json count_or_automatic(std::uint32_t count) {
  return count == 0 ? Json(kAutomatic) : Json(count);
}

// A limit of 0 is no limit, and is not in the document.
template <typename Number>
void write_unless_zero(Json& object, const char* key, Number value) {
  if (value != Number{}) object[key] = value;
}

Json paths_to_json(const std::vector<std::filesystem::path>& paths) {
  Json list = Json::array();
  for (const auto& path : paths) list.push_back(path.string());
  return list;
}

DataSourceConfig source_from(const Json& object) {
  DataSourceConfig source;
  read(object, "format", source.format);
  source.features = object.value("features", "");
  source.labels = object.value("labels", "");
  for (const std::string file : object.value("files", Json::array())) source.files.push_back(file);
  if (object.contains("label_column")) {
    const Json& column = object.at("label_column");
    source.label_column = column.is_string() ? column.get<std::string>() : column.dump();
  }
  read(object, "has_header", source.has_header);
  read(object, "samples", source.samples);
  read(object, "feature_count", source.feature_count);
  read(object, "first_sample", source.first_sample);
  read(object, "label_noise", source.label_noise);
  return source;
}

Json source_to_json(const DataSourceConfig& source) {
  Json object = {{"format", source.format}};
  switch (source.format) {
    case DataFormat::kIdx:
      object["features"] = source.features.string();
      object["labels"] = source.labels.string();
      break;
    case DataFormat::kCifar10:
      object["files"] = paths_to_json(source.files);
      break;
    case DataFormat::kCsv:
      object["files"] = paths_to_json(source.files);
      object["label_column"] = source.label_column;
      object["has_header"] = source.has_header;
      break;
    case DataFormat::kSynthetic:
      object["samples"] = source.samples;
      object["feature_count"] = source.feature_count;
      object["first_sample"] = source.first_sample;
      object["label_noise"] = source.label_noise;
      break;
  }
  return object;
}

// Bytes of images become 0 to 1; numbers that people wrote stay.
double default_scale(DataFormat format) {
  return format == DataFormat::kIdx || format == DataFormat::kCifar10 ? 1.0 / 255.0 : 1.0;
}

DataConfig data_from(const Json& object) {
  DataConfig data;
  data.train = source_from(object.at("train"));
  data.test = source_from(object.at("test"));
  read(object, "classes", data.classes);
  read(object, "sample_shape", data.sample_shape);
  data.scale = default_scale(data.train.format);
  read(object, "scale", data.scale);
  if (object.contains("normalise")) {
    const Json& normalise = object.at("normalise");
    data.normalise.emplace();
    read(normalise, "mean", data.normalise->mean);
    read(normalise, "standard_deviation", data.normalise->standard_deviation);
  }
  read(object.at("augment"), "flip", data.augment.flip);
  read(object.at("augment"), "crop_padding", data.augment.crop_padding);
  return data;
}

Json data_to_json(const DataConfig& data) {
  Json object = {{"train", source_to_json(data.train)},
                 {"test", source_to_json(data.test)},
                 {"classes", data.classes}};
  if (!data.sample_shape.empty()) object["sample_shape"] = data.sample_shape;
  object["scale"] = data.scale;
  if (data.normalise)
    object["normalise"] = {{"mean", data.normalise->mean},
                           {"standard_deviation", data.normalise->standard_deviation}};
  object["augment"] = {{"flip", data.augment.flip}, {"crop_padding", data.augment.crop_padding}};
  return object;
}

ModelConfig model_from(const Json& object) {
  ModelConfig model;
  read(object, "type", model.type);
  read(object, "hidden", model.hidden);
  read(object, "channels", model.channels);
  read(object, "dense", model.dense);
  return model;
}

Json model_to_json(const ModelConfig& model) {
  Json object = {{"type", model.type}};
  switch (model.type) {
    case ModelType::kMlp:
      object["hidden"] = model.hidden;
      break;
    case ModelType::kCnn:
      object["channels"] = model.channels;
      object["dense"] = model.dense;
      break;
    case ModelType::kResNet18:
      break;
  }
  return object;
}

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
  object["schedule"] = schedule_to_json(optimizer.schedule);
  return object;
}

StopConfig stop_from(const Json& object) {
  StopConfig stop;
  if (object.contains("target")) {
    const Json& target = object.at("target");
    stop.target.emplace();
    read(target, "metric", stop.target->metric);
    read(target, "split", stop.target->split);
    read(target, "value", stop.target->value);
  }
  read(object, "max_epochs", stop.max_epochs);
  read(object, "max_iterations", stop.max_iterations);
  read(object, "max_seconds", stop.max_seconds);
  return stop;
}

Json stop_to_json(const StopConfig& stop) {
  Json object = Json::object();
  if (stop.target)
    object["target"] = {{"metric", stop.target->metric},
                        {"split", stop.target->split},
                        {"value", stop.target->value}};
  write_unless_zero(object, "max_epochs", stop.max_epochs);
  write_unless_zero(object, "max_iterations", stop.max_iterations);
  write_unless_zero(object, "max_seconds", stop.max_seconds);
  return object;
}

HostConfig host_from(const Json& object) {
  HostConfig host;
  read(object, "name", host.name);
  read(object, "address", host.address);
  read(object, "launch", host.launch);
  read(object, "workers", host.workers);
  return host;
}

Json cluster_to_json(const ClusterConfig& cluster) {
  Json hosts = Json::array();
  for (const HostConfig& host : cluster.hosts)
    hosts.push_back({{"name", host.name},
                     {"address", host.address},
                     {"launch", host.launch},
                     {"workers", host.workers}});
  return {{"workers", cluster.workers},
          {"price_per_worker_hour", cluster.price_per_worker_hour},
          {"threads_per_worker", count_or_automatic(cluster.threads_per_worker)},
          {"listen_address", cluster.listen_address},
          {"hosts", std::move(hosts)}};
}

void read_cluster_and_ps(const Json& document, JobConfig& config) {
  const Json& cluster = document.at("cluster");
  read(cluster, "workers", config.cluster.workers);
  read(cluster, "price_per_worker_hour", config.cluster.price_per_worker_hour);
  read_count_or_automatic(cluster, "threads_per_worker", config.cluster.threads_per_worker);
  read(cluster, "listen_address", config.cluster.listen_address);
  for (const Json& host : cluster.at("hosts")) config.cluster.hosts.push_back(host_from(host));
  const Json& ps = document.at("ps");
  read_count_or_automatic(ps, "shards", config.ps.shards);
  read(ps, "placement", config.ps.placement);
  read(ps, "chunk_bytes", config.ps.chunk_bytes);
  read(ps, "port", config.ps.port);
}

void read_sync_and_faults(const Json& document, JobConfig& config) {
  const Json& sync = document.at("sync");
  read(sync, "strategy", config.sync.strategy);
  read(sync, "transport", config.sync.transport);
  read(sync, "wire_precision", config.sync.wire_precision);
  read(sync, "allow_plaintext", config.sync.allow_plaintext);
  const Json& faults = document.at("faults");
  read(faults, "on_worker_loss", config.faults.on_worker_loss);
  read(faults, "max_losses", config.faults.max_losses);
  read(document, "device", config.device);
}

void read_intervals(const Json& document, JobConfig& config) {
  const Json& evaluation = document.at("evaluation");
  read(evaluation, "every_epochs", config.evaluation.every_epochs);
  read(evaluation, "every_iterations", config.evaluation.every_iterations);
  read(evaluation, "batch_size", config.evaluation.batch_size);
  const Json& checkpoint = document.at("checkpoint");
  read(checkpoint, "every_epochs", config.checkpoint.every_epochs);
  read(checkpoint, "every_iterations", config.checkpoint.every_iterations);
  read(checkpoint, "every_seconds", config.checkpoint.every_seconds);
  read(checkpoint, "keep_last", config.checkpoint.keep_last);
  read(checkpoint, "keep_best", config.checkpoint.keep_best);
}

Json checkpoint_to_json(const CheckpointConfig& checkpoint) {
  Json object = {{"every_epochs", checkpoint.every_epochs}};
  write_unless_zero(object, "every_iterations", checkpoint.every_iterations);
  write_unless_zero(object, "every_seconds", checkpoint.every_seconds);
  object["keep_last"] = checkpoint.keep_last;
  object["keep_best"] = checkpoint.keep_best;
  return object;
}

Json evaluation_to_json(const EvaluationConfig& evaluation) {
  Json object = {{"every_epochs", evaluation.every_epochs}};
  write_unless_zero(object, "every_iterations", evaluation.every_iterations);
  object["batch_size"] = evaluation.batch_size;
  return object;
}

}  // namespace

JobConfig job_config_from(const Json& document) {
  JobConfig config;
  read(document, "name", config.name);
  read(document, "seed", config.seed);
  config.data = data_from(document.at("data"));
  config.model = model_from(document.at("model"));
  config.optimizer = optimizer_from(document.at("optimizer"));
  read(document, "batch_size", config.batch_size);
  read_cluster_and_ps(document, config);
  read_sync_and_faults(document, config);
  config.stop = stop_from(document.at("stop"));
  read_intervals(document, config);
  const Json& limits = document.at("limits");
  read(limits, "start_seconds", config.limits.start_seconds);
  read(limits, "heartbeat_seconds", config.limits.heartbeat_seconds);
  read(limits, "iteration_seconds", config.limits.iteration_seconds);
  read(limits, "boundary_seconds", config.limits.boundary_seconds);
  read(limits, "stop_seconds", config.limits.stop_seconds);
  return config;
}

Json to_json(const JobConfig& config) {
  return {{"name", config.name},
          {"seed", config.seed},
          {"data", data_to_json(config.data)},
          {"model", model_to_json(config.model)},
          {"optimizer", optimizer_to_json(config.optimizer)},
          {"batch_size", config.batch_size},
          {"cluster", cluster_to_json(config.cluster)},
          {"ps",
           {{"shards", count_or_automatic(config.ps.shards)},
            {"placement", config.ps.placement},
            {"chunk_bytes", config.ps.chunk_bytes},
            {"port", config.ps.port}}},
          {"sync",
           {{"strategy", config.sync.strategy},
            {"transport", config.sync.transport},
            {"wire_precision", config.sync.wire_precision},
            {"allow_plaintext", config.sync.allow_plaintext}}},
          {"faults",
           {{"on_worker_loss", config.faults.on_worker_loss},
            {"max_losses", config.faults.max_losses}}},
          {"device", config.device},
          {"stop", stop_to_json(config.stop)},
          {"evaluation", evaluation_to_json(config.evaluation)},
          {"checkpoint", checkpoint_to_json(config.checkpoint)},
          {"limits",
           {{"start_seconds", config.limits.start_seconds},
            {"heartbeat_seconds", config.limits.heartbeat_seconds},
            {"iteration_seconds", config.limits.iteration_seconds},
            {"boundary_seconds", config.limits.boundary_seconds},
            {"stop_seconds", config.limits.stop_seconds}}}};
}

}  // namespace scavenger
