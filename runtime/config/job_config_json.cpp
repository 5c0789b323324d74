#include "runtime/config/job_config_json.h"

#include <algorithm>
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/json_text.h"
#include "runtime/config/config_file.h"
#include "runtime/config/data_config_fields.h"
#include "runtime/config/model_config_fields.h"
#include "runtime/config/optimizer_config_fields.h"

namespace scavenger {

NLOHMANN_JSON_SERIALIZE_ENUM(ShardPlacement, {{ShardPlacement::kAutomatic, "auto"},
                                              {ShardPlacement::kController, "controller"},
                                              {ShardPlacement::kSpread, "spread"}})
NLOHMANN_JSON_SERIALIZE_ENUM(SyncStrategy, {{SyncStrategy::kParameterServer, "parameter_server"},
                                            {SyncStrategy::kGloo, "gloo"},
                                            {SyncStrategy::kNccl, "nccl"},
                                            {SyncStrategy::kAllReduce, "all_reduce"}})
NLOHMANN_JSON_SERIALIZE_ENUM(SyncTransport, {{SyncTransport::kAutomatic, "auto"},
                                             {SyncTransport::kSharedMemory, "shared_memory"},
                                             {SyncTransport::kTcp, "tcp"}})
NLOHMANN_JSON_SERIALIZE_ENUM(SyncHierarchy, {{SyncHierarchy::kAutomatic, "auto"},
                                             {SyncHierarchy::kOn, "on"},
                                             {SyncHierarchy::kOff, "off"},
                                             {SyncHierarchy::kGloo, "gloo"},
                                             {SyncHierarchy::kNccl, "nccl"}})
NLOHMANN_JSON_SERIALIZE_ENUM(WirePrecision, {{WirePrecision::kFloat32, "float32"},
                                             {WirePrecision::kBfloat16, "bfloat16"}})
NLOHMANN_JSON_SERIALIZE_ENUM(OnWorkerLoss, {{OnWorkerLoss::kReplace, "replace"},
                                            {OnWorkerLoss::kShrink, "shrink"},
                                            {OnWorkerLoss::kStop, "stop"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Device, {{Device::kAutomatic, "auto"},
                                      {Device::kCpu, "cpu"},
                                      {Device::kCuda, "cuda"}})
NLOHMANN_JSON_SERIALIZE_ENUM(ImagePreparation, {{ImagePreparation::kAutomatic, "auto"},
                                                {ImagePreparation::kHost, "host"},
                                                {ImagePreparation::kDevice, "device"}})
NLOHMANN_JSON_SERIALIZE_ENUM(CudaGraphs,
                             {{CudaGraphs::kOff, "off"}, {CudaGraphs::kAutomatic, "auto"}})
NLOHMANN_JSON_SERIALIZE_ENUM(ImageOrder, {{ImageOrder::kAutomatic, "auto"},
                                          {ImageOrder::kChannelsFirst, "channels_first"},
                                          {ImageOrder::kChannelsLast, "channels_last"}})
NLOHMANN_JSON_SERIALIZE_ENUM(SearchMode, {{SearchMode::kOff, "off"},
                                          {SearchMode::kAuto, "auto"},
                                          {SearchMode::kFull, "full"},
                                          {SearchMode::kPartial, "partial"},
                                          {SearchMode::kAdaptive, "adaptive"},
                                          {SearchMode::kNone, "none"},
                                          {SearchMode::kUniversal, "universal"}})

namespace {

// Requires a name that the schema allows.
ProviderType provider_type_from(const std::string& name) {
  const auto found = std::ranges::find_if(kProviderTypes,
                                          [&](ProviderType type) { return name_of(type) == name; });
  SCAVENGER_CHECK(found != kProviderTypes.end());
  return *found;
}

ProviderConfig provider_from(const Json& object) {
  ProviderConfig provider;
  provider.type = provider_type_from(object.at("type").get<std::string>());
  provider.spot = object.value("spot", provider.spot);
  provider.settings = json_text(object);
  return provider;
}

// A provider's settings are kept as their document.
void visit_provider(ConfigReader& field, ProviderConfig& provider) {
  provider = provider_from(field.at("provider"));
}
void visit_provider(ConfigWriter& field, const ProviderConfig& provider) {
  field.put("provider", parse_json<Json>(provider.settings));
}

}  // namespace

template <typename Fields, MaybeConst<TargetConfig> T>
void visit_fields(Fields& field, T& target) {
  field("metric", target.metric);
  field("split", target.split);
  field("value", target.value);
}

template <typename Fields, MaybeConst<EarlyStoppingConfig> T>
void visit_fields(Fields& field, T& early) {
  field("metric", early.metric);
  field("patience", early.patience);
  field("min_delta", early.min_delta);
}

template <typename Fields, MaybeConst<StopConfig> T>
void visit_fields(Fields& field, T& stop) {
  field("target", stop.target);
  field("early_stopping", stop.early_stopping);
  field.unless_empty("max_epochs", stop.max_epochs);
  field.unless_empty("max_iterations", stop.max_iterations);
  field.unless_empty("max_seconds", stop.max_seconds);
  field.unless_empty("max_cost", stop.max_cost);
}

template <typename Fields, MaybeConst<HostConfig> T>
void visit_fields(Fields& field, T& host) {
  field("name", host.name);
  field("address", host.address);
  field("launch", host.launch);
  field("workers", host.workers);
  field("largest_share", host.largest_share);
}

template <typename Fields, MaybeConst<ClusterConfig> T>
void visit_fields(Fields& field, T& cluster) {
  field("workers", cluster.workers);
  field("price_per_worker_hour", cluster.price_per_worker_hour);
  field.count_or_automatic("threads_per_worker", cluster.threads_per_worker);
  field("listen_address", cluster.listen_address);
  field("port", cluster.port);
  field("hosts", cluster.hosts);
}

template <typename Fields, MaybeConst<PsConfig> T>
void visit_fields(Fields& field, T& ps) {
  field.count_or_automatic("shards", ps.shards);
  field("placement", ps.placement);
  field("chunk_bytes", ps.chunk_bytes);
  field("port", ps.port);
}

template <typename Fields, MaybeConst<SyncConfig> T>
void visit_fields(Fields& field, T& sync) {
  field("strategy", sync.strategy);
  field("transport", sync.transport);
  field("hierarchy", sync.hierarchy);
  field("wire_precision", sync.wire_precision);
  field("allow_plaintext", sync.allow_plaintext);
}

template <typename Fields, MaybeConst<FaultsConfig> T>
void visit_fields(Fields& field, T& faults) {
  field("on_worker_loss", faults.on_worker_loss);
  field("max_losses", faults.max_losses);
}

template <typename Fields, MaybeConst<ComputeConfig> T>
void visit_fields(Fields& field, T& compute) {
  field("precision", compute.precision);
  field("image_order", compute.image_order);
  field("tune_kernels", compute.tune_kernels);
  field("prepare_images", compute.prepare_images);
  field("cuda_graphs", compute.cuda_graphs);
  field.count_or_automatic("micro_batch", compute.micro_batch);
}

template <typename Fields, MaybeConst<EvaluationConfig> T>
void visit_fields(Fields& field, T& evaluation) {
  field("enabled", evaluation.enabled);
  field("every_epochs", evaluation.every_epochs);
  field.unless_empty("every_iterations", evaluation.every_iterations);
  field("batch_size", evaluation.batch_size);
  field("beam_width", evaluation.beam_width);
}

template <typename Fields, MaybeConst<CheckpointConfig> T>
void visit_fields(Fields& field, T& checkpoint) {
  field("every_epochs", checkpoint.every_epochs);
  field.unless_empty("every_iterations", checkpoint.every_iterations);
  field("every_seconds", checkpoint.every_seconds);
  field("keep_last", checkpoint.keep_last);
  field("keep_best", checkpoint.keep_best);
}

template <typename Fields, MaybeConst<NoiseConfig> T>
void visit_fields(Fields& field, T& noise) {
  field("per_layer", noise.per_layer);
  field("half_batch_share", noise.half_batch_share);
  field("cold_start_share", noise.cold_start_share);
}

template <typename Fields, MaybeConst<ModelStoreConfig> T>
void visit_fields(Fields& field, T& store) {
  field.unless_empty("path", store.path);
  field.unless_empty("url", store.url);
  field.unless_empty("token_file", store.token_file);
  field.unless_empty("machine_type", store.machine_type);
}

template <typename Fields, MaybeConst<SearchConfig> T>
void visit_fields(Fields& field, T& search) {
  field("mode", search.mode);
  field("policy", search.policy);
  field("workers", search.workers);
  field("batch_sizes", search.batch_sizes);
  field("max_local_batch", search.max_local_batch);
  field("iterations", search.iterations);
  field("cold_start_iterations", search.cold_start_iterations);
  field("margin", search.margin);
  field("budget", search.budget);
}

template <typename Fields, MaybeConst<BatchingConfig> T>
void visit_fields(Fields& field, T& batching) {
  field("dynamic", batching.dynamic);
  field("dead_band", batching.dead_band);
  field("integral_gain", batching.integral_gain);
  field("derivative_gain", batching.derivative_gain);
  field("smallest_share", batching.smallest_share);
  field("largest_share", batching.largest_share);
}

template <typename Fields, MaybeConst<LimitsConfig> T>
void visit_fields(Fields& field, T& limits) {
  field("start_seconds", limits.start_seconds);
  field("heartbeat_seconds", limits.heartbeat_seconds);
  field("iteration_seconds", limits.iteration_seconds);
  field("boundary_seconds", limits.boundary_seconds);
  field("stop_seconds", limits.stop_seconds);
}

template <typename Fields, MaybeConst<JobConfig> T>
void visit_fields(Fields& field, T& config) {
  field("name", config.name);
  field("seed", config.seed);
  field("data", config.data);
  field("model", config.model);
  field("loss", config.loss);
  field("optimizer", config.optimizer);
  field("batch_size", config.batch_size);
  field("cluster", config.cluster);
  visit_provider(field, config.provider);
  field("ps", config.ps);
  field("sync", config.sync);
  field("faults", config.faults);
  field("device", config.device);
  field("compute", config.compute);
  field("stop", config.stop);
  field("evaluation", config.evaluation);
  field("checkpoint", config.checkpoint);
  field("noise", config.noise);
  field("model_store", config.model_store);
  field("search", config.search);
  field("batching", config.batching);
  field("limits", config.limits);
}

JobConfig job_config_from(const Json& document) {
  return read_fields<JobConfig>(document);
}

Json to_json(const JobConfig& config) {
  return write_fields(config);
}

}  // namespace scavenger
