// The resolved configuration of one job: every value present, every value checked.
//
// Made by load_job_config() (config_file.h) from JSON that fits configs/scavenger.schema.json,
// which documents each key for users and their editors. Plain data: copy it freely. Names follow
// the JSON document.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/config/data_config.h"
#include "runtime/config/model_config.h"
#include "runtime/config/optimizer_config.h"
#include "runtime/config/provider_config.h"

namespace scavenger {

// A machine that takes workers.
struct HostConfig {
  std::string name;
  std::string address;              // numeric, in the network of the job
  std::vector<std::string> launch;  // words before a command that is to run there; none: here
  std::uint32_t workers = 1;        // how many it takes
  std::uint32_t largest_share = 0;  // b_k that a worker's memory there holds; 0: as elsewhere

  bool operator==(const HostConfig&) const = default;
};

struct ClusterConfig {
  std::uint32_t workers = 1;                 // K
  double price_per_worker_hour = 0.0;        // dollars; 0: costs nothing
  std::uint32_t threads_per_worker = 0;      // 0: cores of the host / processes that compute there
  std::string listen_address = "127.0.0.1";  // the controller's, and of shards beside it
  std::uint16_t port = 0;                    // the controller's; 0: any free port
  std::vector<HostConfig> hosts;             // filled in this order; empty: all on this machine

  bool operator==(const ClusterConfig&) const = default;
};

// Where shards run.
enum class ShardPlacement { kAutomatic, kController, kSpread };

struct PsConfig {
  std::uint32_t shards = 0;  // 0: automatic
  ShardPlacement placement = ShardPlacement::kAutomatic;
  std::uint64_t chunk_bytes = 256 << 10;
  std::uint16_t port = 0;  // of shard 0, the next ones follow; 0: any free port

  bool operator==(const PsConfig&) const = default;
};

enum class SyncStrategy { kParameterServer, kGloo, kNccl };
enum class SyncTransport { kAutomatic, kSharedMemory, kTcp };
enum class WirePrecision { kFloat32, kBfloat16 };

// How the workers' gradients become new weights (docs/synchronisation.md).
struct SyncConfig {
  SyncStrategy strategy = SyncStrategy::kParameterServer;
  SyncTransport transport = SyncTransport::kAutomatic;     // of the parameter server
  WirePrecision wire_precision = WirePrecision::kFloat32;  // of gradients and weights over TCP
  bool allow_plaintext = false;  // gloo and nccl may send in clear from host to host

  bool operator==(const SyncConfig&) const = default;
};

enum class OnWorkerLoss { kReplace, kShrink, kStop };

// What happens when a process is lost.
struct FaultsConfig {
  OnWorkerLoss on_worker_loss = OnWorkerLoss::kReplace;
  std::uint32_t max_losses = 100;  // of processes, in the whole job; one more ends it

  bool operator==(const FaultsConfig&) const = default;
};

enum class Device { kAutomatic, kCpu, kCuda };

enum class Precision { kFloat32, kBfloat16 };

// How a worker computes.
struct ComputeConfig {
  // Of products of matrices and convolutions; weights, gradients and sums stay float32.
  Precision precision = Precision::kFloat32;
  // Samples of one forward and backward pass; a larger share of the batch takes several. 0: as many
  // as fit.
  std::uint32_t micro_batch = 0;

  bool operator==(const ComputeConfig&) const = default;
};

enum class Split { kTrain, kTest };
enum class Metric { kAccuracy, kLoss, kPerplexity, kBleu, kMse, kTop5Accuracy };

struct TargetConfig {
  Metric metric = Metric::kAccuracy;
  Split split = Split::kTest;
  double value = 0.0;  // reached at >= for accuracies and BLEU, at <= for the others

  bool operator==(const TargetConfig&) const = default;
};

// The job ends where a metric has not become better for a while.
struct EarlyStoppingConfig {
  Metric metric = Metric::kLoss;  // on the data that the job is evaluated on
  std::uint32_t patience = 1;     // so many evaluations in a row without a gain end the job
  double min_delta = 0.0;         // what is more than this, in the metric's unit, is a gain

  bool operator==(const EarlyStoppingConfig&) const = default;
};

// Whichever comes first. Zero means no limit.
struct StopConfig {
  std::optional<TargetConfig> target;
  std::optional<EarlyStoppingConfig> early_stopping;
  double max_epochs = 0.0;
  std::uint64_t max_iterations = 0;
  double max_seconds = 0.0;  // of wall time, over all resumes
  double max_cost = 0.0;     // dollars, over all resumes: the job ends before it is passed

  bool operator==(const StopConfig&) const = default;
};

struct EvaluationConfig {
  double every_epochs = 1.0;
  std::uint64_t every_iterations = 0;  // wins over every_epochs where it is not 0
  std::uint32_t batch_size = 500;
  std::uint32_t beam_width = 1;  // of the translations that BLEU judges; 1: greedy

  bool operator==(const EvaluationConfig&) const = default;
};

struct CheckpointConfig {
  double every_epochs = 1.0;
  std::uint64_t every_iterations = 0;  // wins over every_epochs where it is not 0
  double every_seconds = 0.0;          // as well, where it is not 0
  std::uint32_t keep_last = 3;
  bool keep_best = true;  // by the target's metric, else by test loss

  bool operator==(const CheckpointConfig&) const = default;
};

// How gradient noise is measured (docs/noise.md).
struct NoiseConfig {
  bool per_layer = false;           // for each layer, too
  double half_batch_share = 0.008;  // of one worker's time, for gradients of half batches
  double cold_start_share = 0.1;    // the same, while a search waits for the noise to settle

  bool operator==(const NoiseConfig&) const = default;
};

// Where measurements are kept for later jobs (docs/store.md). Neither path nor url: nowhere.
struct ModelStoreConfig {
  std::filesystem::path path;        // of a SQLite file
  std::string url;                   // of a service: "http://10.0.0.5:7077"
  std::filesystem::path token_file;  // what the service asks for
  std::string machine_type;          // of a worker's VM; empty: the processor's name and cores

  bool is_set() const { return !path.empty() || !url.empty(); }
  bool operator==(const ModelStoreConfig&) const = default;
};

// Which configurations a search measures before it chooses one (docs/search.md).
enum class SearchMode { kOff, kFull, kPartial, kAdaptive, kNone, kUniversal };
enum class SearchPolicy { kMinimumTime, kMinimumCost, kKnee };

// How the job finds its (K, B) while it trains.
struct SearchConfig {
  SearchMode mode = SearchMode::kOff;
  SearchPolicy policy = SearchPolicy::kKnee;
  std::vector<std::uint32_t> workers;         // K to choose from; empty: automatic
  std::vector<std::uint32_t> batch_sizes;     // B to choose from; empty: automatic
  std::uint32_t max_local_batch = 0;          // what a worker's memory holds; 0: not known
  std::uint32_t iterations = 20;              // measured at each configuration, at least
  std::uint32_t cold_start_iterations = 500;  // the most before the first choice
  double margin = 0.05;  // a move must gain this share of what is left, its cost charged

  bool operator==(const SearchConfig&) const = default;
};

// How B is shared out among the workers (docs/dynamic_batching.md).
struct BatchingConfig {
  bool dynamic = false;              // the b_k follow what each worker is measured to do
  double dead_band = 0.06;           // spread of the workers' times that is left alone
  double integral_gain = 0.0;        // of the sum of a worker's errors beside the present one
  double derivative_gain = 0.0;      // of their trend
  std::uint32_t smallest_share = 1;  // bounds of a b_k, where B and K leave room for them
  std::uint32_t largest_share = 0;   // 0: none

  bool operator==(const BatchingConfig&) const = default;
};

// How long we wait for what. All in seconds, all positive.
struct LimitsConfig {
  double start_seconds = 60.0;       // from starting a process to its hello
  double heartbeat_seconds = 5.0;    // silence after which a process counts as hung
  double iteration_seconds = 600.0;  // the longest iteration
  double boundary_seconds = 3600.0;  // the longest evaluation, or copying of the state
  double stop_seconds = 10.0;        // from asking a process to end to killing it

  bool operator==(const LimitsConfig&) const = default;
};

struct JobConfig {
  std::string name;
  std::uint64_t seed = 1;
  DataConfig data;
  ModelConfig model;
  LossConfig loss;
  OptimizerConfig optimizer;
  std::uint32_t batch_size = 64;  // B, the global batch
  ClusterConfig cluster;
  ProviderConfig provider;
  PsConfig ps;
  SyncConfig sync;
  FaultsConfig faults;
  Device device = Device::kAutomatic;
  ComputeConfig compute;
  StopConfig stop;
  EvaluationConfig evaluation;
  CheckpointConfig checkpoint;
  NoiseConfig noise;
  ModelStoreConfig model_store;
  SearchConfig search;
  BatchingConfig batching;
  LimitsConfig limits;

  bool operator==(const JobConfig&) const = default;
};

}  // namespace scavenger
