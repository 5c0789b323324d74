// The resolved configuration of one job: every value present, every value checked.
//
// Made by load_job_config() (config_file.h) from JSON that fits configs/scavenger.schema.json,
// which documents each key for users and their editors. Plain data: copy it freely. Names follow
// the JSON document.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/config/data_config.h"
#include "runtime/config/model_config.h"
#include "runtime/config/optimizer_config.h"
#include "runtime/config/provider_config.h"
#include "runtime/vocabulary/metric.h"
#include "runtime/vocabulary/policy.h"
#include "runtime/vocabulary/precision.h"
#include "runtime/vocabulary/split.h"

namespace scavenger {

// A machine on which workers can run.
struct HostConfig {
  std::string name;
  std::string address;              // numeric address in the job's network
  std::vector<std::string> launch;  // words that precede a command to run there; none: this machine
  std::uint32_t workers = 1;        // the most workers that can run there
  std::uint32_t largest_share = 0;  // largest b_k for a worker's memory there; 0: the general limit

  bool operator==(const HostConfig&) const = default;
};

struct ClusterConfig {
  std::uint32_t workers = 1;           // K
  double price_per_worker_hour = 0.0;  // dollars; 0: free
  // Computing threads of a worker; 0: cores of the host divided by the computing processes there.
  std::uint32_t threads_per_worker = 0;
  std::string listen_address = "127.0.0.1";  // of the controller and the shards on its host
  std::uint16_t port = 0;                    // of the controller; 0: any free port
  std::vector<HostConfig> hosts;  // filled in this order; empty: all processes on this machine

  bool operator==(const ClusterConfig&) const = default;
};

// Where the shards run.
enum class ShardPlacement { kAutomatic, kController, kSpread };

struct PsConfig {
  std::uint32_t shards = 0;  // 0: automatic
  ShardPlacement placement = ShardPlacement::kAutomatic;
  std::uint64_t chunk_bytes = 256 << 10;
  std::uint16_t port = 0;  // port of shard 0; shard i has port + i; 0: any free ports

  bool operator==(const PsConfig&) const = default;
};

// kAllReduce: by the job's own connections, for optimizers that workers step in Python.
enum class SyncStrategy { kParameterServer, kGloo, kNccl, kAllReduce };
enum class SyncTransport { kAutomatic, kSharedMemory, kTcp };
enum class WirePrecision { kFloat32, kBfloat16 };

// How the workers' gradients become new weights (docs/design/synchronisation.md).
// Whether, and by what, workers of one host add up before one of them sends. kAutomatic: in shared
// memory, on the hosts that cluster.hosts names. kOn: there, and where all are on this machine.
enum class SyncHierarchy { kAutomatic, kOn, kOff, kGloo, kNccl };

struct SyncConfig {
  SyncStrategy strategy = SyncStrategy::kParameterServer;
  SyncTransport transport = SyncTransport::kAutomatic;     // for the parameter server
  SyncHierarchy hierarchy = SyncHierarchy::kAutomatic;     // for the parameter server over TCP
  WirePrecision wire_precision = WirePrecision::kFloat32;  // for gradients and weights over TCP
  bool allow_plaintext = false;  // gloo and nccl may send unencrypted between hosts

  bool operator==(const SyncConfig&) const = default;
};

enum class OnWorkerLoss { kReplace, kShrink, kStop };

// What happens when a process is lost.
struct FaultsConfig {
  OnWorkerLoss on_worker_loss = OnWorkerLoss::kReplace;
  std::uint32_t max_losses = 100;  // lost processes in the whole job; one more ends the job

  bool operator==(const FaultsConfig&) const = default;
};

enum class Device { kAutomatic, kCpu, kCuda };

// The order of images in memory. kAutomatic: on the CPU by the sizes of image and weights of each
// convolution; on a GPU channels last, unless products are of float32.
enum class ImageOrder { kAutomatic, kChannelsFirst, kChannelsLast };

// Where images are cropped, mirrored and normalised. kAutomatic: where the model is, if that is a
// GPU.
enum class ImagePreparation { kAutomatic, kHost, kDevice };

// Whether forward and backward passes are recorded as CUDA graphs where the model and the shapes of
// batches allow it.
enum class CudaGraphs { kOff, kAutomatic };

// How a worker computes.
struct ComputeConfig {
  Precision precision = Precision::kFloat32;
  ImageOrder image_order = ImageOrder::kAutomatic;
  // cuDNN measures its kernels for each new shape of a convolution, and takes the fastest.
  bool tune_kernels = false;
  ImagePreparation prepare_images = ImagePreparation::kAutomatic;
  CudaGraphs cuda_graphs = CudaGraphs::kAutomatic;
  // The most samples of one forward and backward pass; a larger share of the batch takes several
  // passes. 0: as many as fit into memory.
  std::uint32_t micro_batch = 0;

  bool operator==(const ComputeConfig&) const = default;
};

struct TargetConfig {
  Metric metric = Metric::kAccuracy;
  Split split = Split::kTest;
  double value = 0.0;  // reached at >= for accuracies and BLEU, at <= for other metrics

  bool operator==(const TargetConfig&) const = default;
};

// Ends the job if a metric has not improved for a number of evaluations.
struct EarlyStoppingConfig {
  Metric metric = Metric::kLoss;  // measured on the job's evaluation data
  std::uint32_t patience = 1;     // so many evaluations in a row without improvement end the job
  double min_delta = 0.0;         // an improvement exceeds this, in the metric's unit

  bool operator==(const EarlyStoppingConfig&) const = default;
};

// The job ends at the first of these conditions. Zero means no limit.
struct StopConfig {
  std::optional<TargetConfig> target;
  std::optional<EarlyStoppingConfig> early_stopping;
  double max_epochs = 0.0;
  std::uint64_t max_iterations = 0;
  double max_seconds = 0.0;  // wall time, summed over all resumes
  double max_cost = 0.0;  // dollars, summed over all resumes; the job ends before it exceeds this

  bool operator==(const StopConfig&) const = default;
};

struct EvaluationConfig {
  double every_epochs = 1.0;
  std::uint64_t every_iterations = 0;  // replaces every_epochs if it is not 0
  std::uint32_t batch_size = 500;
  std::uint32_t beam_width = 1;  // for the translations that BLEU is computed of; 1: greedy
  bool enabled = true;           // false: nothing is evaluated, also not at the end

  bool operator==(const EvaluationConfig&) const = default;
};

struct CheckpointConfig {
  double every_epochs = 1.0;
  std::uint64_t every_iterations = 0;  // replaces every_epochs if it is not 0
  double every_seconds = 0.0;          // in addition; 0: not by time
  std::uint32_t keep_last = 3;
  bool keep_best = true;  // judged by the target's metric, or else by test loss

  bool operator==(const CheckpointConfig&) const = default;
};

// How the gradient noise is measured (docs/design/noise.md).
struct NoiseConfig {
  bool per_layer = false;  // also for each layer
  // Fraction of one worker's time that is spent on gradients of half batches.
  double half_batch_share = 0.008;
  double cold_start_share = 0.1;  // the same while a search waits for a stable noise estimate

  bool operator==(const NoiseConfig&) const = default;
};

// Where measurements are stored for later jobs (docs/store.md). They are not stored if neither
// `path` nor `url` is set.
struct ModelStoreConfig {
  std::filesystem::path path;        // a SQLite file
  std::string url;                   // a model service: "http://10.0.0.5:7077"
  std::filesystem::path token_file;  // file with the access token of the service
  std::string machine_type;  // VM type of the workers; empty: the processor's name and cores

  bool is_set() const { return !path.empty() || !url.empty(); }
  bool operator==(const ModelStoreConfig&) const = default;
};

// Which configurations a search measures before it chooses one (docs/search.md).
enum class SearchMode { kOff, kAuto, kFull, kPartial, kAdaptive, kNone, kUniversal };

// How the job chooses its (K, B) while it trains.
struct SearchConfig {
  SearchMode mode = SearchMode::kOff;
  Policy policy = Policy::kKnee;
  std::vector<std::uint32_t> workers;      // candidates for K; empty: automatic
  std::vector<std::uint32_t> batch_sizes;  // candidates for B; empty: automatic
  std::uint32_t max_local_batch = 0;  // most samples that a worker's memory can hold; 0: unknown
  std::uint32_t iterations = 20;      // least number that is measured at each configuration
  std::uint32_t cold_start_iterations = 500;  // most iterations before the first choice
  double margin = 0.05;  // a change must save this share of the remaining time or cost, net
  double budget = 0.05;  // kAuto: most of the elapsed time, or cost, that looking around may take

  bool operator==(const SearchConfig&) const = default;
};

struct JobSize {
  std::uint32_t workers = 0;     // K
  std::uint32_t batch_size = 0;  // B

  bool operator==(const JobSize&) const = default;
};

// Every candidate for K with every one for B that gives each worker a sample, and no worker more
// than it holds; by K, then B, each once.
inline std::vector<JobSize> searched_sizes(const SearchConfig& search) {
  const std::set<std::uint32_t> workers(search.workers.begin(), search.workers.end());
  const std::set<std::uint32_t> batch_sizes(search.batch_sizes.begin(), search.batch_sizes.end());
  std::vector<JobSize> sizes;
  for (const std::uint32_t k : workers)
    for (const std::uint32_t b : batch_sizes) {
      const std::uint32_t largest_share = (b + k - 1) / k;
      if (b < k || (search.max_local_batch > 0 && largest_share > search.max_local_batch)) continue;
      sizes.push_back({k, b});
    }
  return sizes;
}

// How B is divided among the workers (docs/design/dynamic_batching.md).
struct BatchingConfig {
  bool dynamic = false;              // adapt each b_k to the measured speed of its worker
  double dead_band = 0.06;           // a smaller spread of the workers' times changes nothing
  double integral_gain = 0.0;        // weight of the sum of a worker's past errors
  double derivative_gain = 0.0;      // weight of their trend
  std::uint32_t smallest_share = 1;  // lower bound of each b_k, as far as B and K permit
  std::uint32_t largest_share = 0;   // upper bound of each b_k; 0: none

  bool operator==(const BatchingConfig&) const = default;
};

// Time limits, in seconds; all are positive.
struct LimitsConfig {
  double start_seconds = 60.0;       // from the start of a process to its first message
  double heartbeat_seconds = 5.0;    // silence after which a process counts as hung
  double iteration_seconds = 600.0;  // the longest iteration
  double boundary_seconds = 3600.0;  // the longest evaluation or copy of the state
  double stop_seconds = 10.0;        // from the request to end a process until it is killed

  bool operator==(const LimitsConfig&) const = default;
};

struct JobConfig {  // more than 20 fields: one for each section of the document, and a few keys
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
