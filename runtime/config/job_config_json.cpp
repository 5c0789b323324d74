#include "runtime/config/job_config_json.h"

#include <algorithm>
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/json_text.h"
#include "runtime/config/config_file.h"
#include "runtime/config/json_fields.h"
#include "runtime/vocabulary/word_json.h"

namespace scavenger {

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
NLOHMANN_JSON_SERIALIZE_ENUM(Precision,
                             {{Precision::kFloat32, "float32"}, {Precision::kBfloat16, "bfloat16"}})
NLOHMANN_JSON_SERIALIZE_ENUM(SearchMode, {{SearchMode::kOff, "off"},
                                          {SearchMode::kFull, "full"},
                                          {SearchMode::kPartial, "partial"},
                                          {SearchMode::kAdaptive, "adaptive"},
                                          {SearchMode::kNone, "none"},
                                          {SearchMode::kUniversal, "universal"}})

namespace {

StopConfig stop_from(const Json& object) {
  StopConfig stop;
  if (object.contains("target")) {
    const Json& target = object.at("target");
    stop.target.emplace();
    read(target, "metric", stop.target->metric);
    read(target, "split", stop.target->split);
    read(target, "value", stop.target->value);
  }
  if (object.contains("early_stopping")) {
    const Json& early = object.at("early_stopping");
    stop.early_stopping.emplace();
    read(early, "metric", stop.early_stopping->metric);
    read(early, "patience", stop.early_stopping->patience);
    read(early, "min_delta", stop.early_stopping->min_delta);
  }
  read(object, "max_epochs", stop.max_epochs);
  read(object, "max_iterations", stop.max_iterations);
  read(object, "max_seconds", stop.max_seconds);
  read(object, "max_cost", stop.max_cost);
  return stop;
}

Json stop_to_json(const StopConfig& stop) {
  Json object = Json::object();
  if (stop.target)
    object["target"] = {{"metric", stop.target->metric},
                        {"split", stop.target->split},
                        {"value", stop.target->value}};
  if (const auto& early = stop.early_stopping)
    object["early_stopping"] = {
        {"metric", early->metric}, {"patience", early->patience}, {"min_delta", early->min_delta}};
  write_unless_zero(object, "max_epochs", stop.max_epochs);
  write_unless_zero(object, "max_iterations", stop.max_iterations);
  write_unless_zero(object, "max_seconds", stop.max_seconds);
  write_unless_zero(object, "max_cost", stop.max_cost);
  return object;
}

HostConfig host_from(const Json& object) {
  HostConfig host;
  read(object, "name", host.name);
  read(object, "address", host.address);
  read(object, "launch", host.launch);
  read(object, "workers", host.workers);
  read(object, "largest_share", host.largest_share);
  return host;
}

Json cluster_to_json(const ClusterConfig& cluster) {
  Json hosts = Json::array();
  for (const HostConfig& host : cluster.hosts)
    hosts.push_back({{"name", host.name},
                     {"address", host.address},
                     {"launch", host.launch},
                     {"workers", host.workers},
                     {"largest_share", host.largest_share}});
  return {{"workers", cluster.workers},
          {"price_per_worker_hour", cluster.price_per_worker_hour},
          {"threads_per_worker", count_or_automatic(cluster.threads_per_worker)},
          {"listen_address", cluster.listen_address},
          {"port", cluster.port},
          {"hosts", std::move(hosts)}};
}

void read_cluster_and_ps(const Json& document, JobConfig& config) {
  const Json& cluster = document.at("cluster");
  read(cluster, "workers", config.cluster.workers);
  read(cluster, "price_per_worker_hour", config.cluster.price_per_worker_hour);
  read_count_or_automatic(cluster, "threads_per_worker", config.cluster.threads_per_worker);
  read(cluster, "listen_address", config.cluster.listen_address);
  read(cluster, "port", config.cluster.port);
  for (const Json& host : cluster.at("hosts")) config.cluster.hosts.push_back(host_from(host));
  const Json& ps = document.at("ps");
  read_count_or_automatic(ps, "shards", config.ps.shards);
  read(ps, "placement", config.ps.placement);
  read(ps, "chunk_bytes", config.ps.chunk_bytes);
  read(ps, "port", config.ps.port);
}

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
  read(object, "spot", provider.spot);
  provider.settings = json_text(object);
  return provider;
}

void read_measuring(const Json& document, JobConfig& config) {
  const Json& noise = document.at("noise");
  read(noise, "per_layer", config.noise.per_layer);
  read(noise, "half_batch_share", config.noise.half_batch_share);
  read(noise, "cold_start_share", config.noise.cold_start_share);
  const Json& store = document.at("model_store");
  config.model_store.path = store.value("path", "");
  read(store, "url", config.model_store.url);
  config.model_store.token_file = store.value("token_file", "");
  read(store, "machine_type", config.model_store.machine_type);
}

Json model_store_to_json(const ModelStoreConfig& store) {
  Json object = Json::object();
  if (!store.path.empty()) object["path"] = store.path.string();
  if (!store.url.empty()) object["url"] = store.url;
  if (!store.token_file.empty()) object["token_file"] = store.token_file.string();
  if (!store.machine_type.empty()) object["machine_type"] = store.machine_type;
  return object;
}

void read_search(const Json& search, SearchConfig& config) {
  read(search, "mode", config.mode);
  read(search, "policy", config.policy);
  read(search, "workers", config.workers);
  read(search, "batch_sizes", config.batch_sizes);
  read(search, "max_local_batch", config.max_local_batch);
  read(search, "iterations", config.iterations);
  read(search, "cold_start_iterations", config.cold_start_iterations);
  read(search, "margin", config.margin);
}

Json search_to_json(const SearchConfig& search) {
  return {{"mode", search.mode},
          {"policy", search.policy},
          {"workers", search.workers},
          {"batch_sizes", search.batch_sizes},
          {"max_local_batch", search.max_local_batch},
          {"iterations", search.iterations},
          {"cold_start_iterations", search.cold_start_iterations},
          {"margin", search.margin}};
}

void read_batching(const Json& batching, BatchingConfig& config) {
  read(batching, "dynamic", config.dynamic);
  read(batching, "dead_band", config.dead_band);
  read(batching, "integral_gain", config.integral_gain);
  read(batching, "derivative_gain", config.derivative_gain);
  read(batching, "smallest_share", config.smallest_share);
  read(batching, "largest_share", config.largest_share);
}

Json batching_to_json(const BatchingConfig& batching) {
  return {{"dynamic", batching.dynamic},
          {"dead_band", batching.dead_band},
          {"integral_gain", batching.integral_gain},
          {"derivative_gain", batching.derivative_gain},
          {"smallest_share", batching.smallest_share},
          {"largest_share", batching.largest_share}};
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
  const Json& compute = document.at("compute");
  read(compute, "precision", config.compute.precision);
  read_count_or_automatic(compute, "micro_batch", config.compute.micro_batch);
}

void read_intervals(const Json& document, JobConfig& config) {
  const Json& evaluation = document.at("evaluation");
  read(evaluation, "every_epochs", config.evaluation.every_epochs);
  read(evaluation, "every_iterations", config.evaluation.every_iterations);
  read(evaluation, "batch_size", config.evaluation.batch_size);
  read(evaluation, "beam_width", config.evaluation.beam_width);
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
  object["every_seconds"] = checkpoint.every_seconds;
  object["keep_last"] = checkpoint.keep_last;
  object["keep_best"] = checkpoint.keep_best;
  return object;
}

Json evaluation_to_json(const EvaluationConfig& evaluation) {
  Json object = {{"every_epochs", evaluation.every_epochs}};
  write_unless_zero(object, "every_iterations", evaluation.every_iterations);
  object["batch_size"] = evaluation.batch_size;
  object["beam_width"] = evaluation.beam_width;
  return object;
}

}  // namespace

JobConfig job_config_from(const Json& document) {
  JobConfig config;
  read(document, "name", config.name);
  read(document, "seed", config.seed);
  config.data = data_from(document.at("data"));
  config.model = model_from(document.at("model"));
  config.loss = loss_from(document.at("loss"));
  config.optimizer = optimizer_from(document.at("optimizer"));
  read(document, "batch_size", config.batch_size);
  read_cluster_and_ps(document, config);
  config.provider = provider_from(document.at("provider"));
  read_sync_and_faults(document, config);
  read_measuring(document, config);
  read_search(document.at("search"), config.search);
  read_batching(document.at("batching"), config.batching);
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
          {"loss", loss_to_json(config.loss)},
          {"optimizer", optimizer_to_json(config.optimizer)},
          {"batch_size", config.batch_size},
          {"cluster", cluster_to_json(config.cluster)},
          {"provider", parse_json<Json>(config.provider.settings)},
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
          {"compute",
           {{"precision", config.compute.precision},
            {"micro_batch", count_or_automatic(config.compute.micro_batch)}}},
          {"stop", stop_to_json(config.stop)},
          {"evaluation", evaluation_to_json(config.evaluation)},
          {"checkpoint", checkpoint_to_json(config.checkpoint)},
          {"noise",
           {{"per_layer", config.noise.per_layer},
            {"half_batch_share", config.noise.half_batch_share},
            {"cold_start_share", config.noise.cold_start_share}}},
          {"model_store", model_store_to_json(config.model_store)},
          {"search", search_to_json(config.search)},
          {"batching", batching_to_json(config.batching)},
          {"limits",
           {{"start_seconds", config.limits.start_seconds},
            {"heartbeat_seconds", config.limits.heartbeat_seconds},
            {"iteration_seconds", config.limits.iteration_seconds},
            {"boundary_seconds", config.limits.boundary_seconds},
            {"stop_seconds", config.limits.stop_seconds}}}};
}

}  // namespace scavenger
