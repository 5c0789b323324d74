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

namespace scavenger {

enum class DataFormat { kIdx, kCifar10, kCsv, kSynthetic };

// One split of a data set: where its samples come from.
struct DataSourceConfig {
  DataFormat format = DataFormat::kIdx;
  std::filesystem::path features;  // idx: images, plain or gzip
  std::filesystem::path labels;    // idx: labels, plain or gzip
  std::vector<std::filesystem::path>
      files;                        // cifar10: .bin batches; csv: one or more files, in order
  std::string label_column;         // csv: a name (needs a header line), or an index from 0; "last"
  bool has_header = false;          // csv
  std::uint64_t samples = 0;        // synthetic: how many
  std::uint64_t feature_count = 0;  // synthetic: length of x
  std::uint64_t first_sample = 0;   // synthetic: sample i of this split is draw first_sample + i
  double label_noise = 0.0;         // synthetic: share of labels drawn at random

  bool operator==(const DataSourceConfig&) const = default;
};

struct NormaliseConfig {
  std::vector<double> mean;                // one per channel, or one for all
  std::vector<double> standard_deviation;  // same length

  bool operator==(const NormaliseConfig&) const = default;
};

struct AugmentConfig {
  bool flip = false;               // left-right, with probability 1/2
  std::uint32_t crop_padding = 0;  // zero-pad by this many pixels on each side, then crop at random

  bool operator==(const AugmentConfig&) const = default;
};

struct DataConfig {
  DataSourceConfig train;
  DataSourceConfig test;
  std::uint32_t classes = 0;
  std::vector<std::int64_t>
      sample_shape;    // empty: as the reader finds it, {channels, height, width} or {features}
  double scale = 1.0;  // multiplies raw values before normalisation (images: 1/255 by default)
  std::optional<NormaliseConfig> normalise;
  AugmentConfig augment;

  bool operator==(const DataConfig&) const = default;
};

enum class ModelType { kMlp, kCnn, kResNet18 };

struct ModelConfig {
  ModelType type = ModelType::kMlp;
  std::vector<std::int64_t> hidden;  // mlp: widths of the hidden layers
  std::vector<std::int64_t>
      channels;            // cnn: output channels of each 3x3 convolution (+ ReLU, 2x2 max pooling)
  std::int64_t dense = 0;  // cnn: width of the dense layer before the classes

  bool operator==(const ModelConfig&) const = default;
};

// resnet18 halves images three times; a batch normalisation needs more than one value after that.
inline constexpr std::int64_t kResNet18SmallestSide = 9;  // pixels

enum class OptimizerType { kSgd, kAdam, kAdamW };
enum class ScheduleType { kConstant, kStep, kCosine };

struct ScheduleConfig {
  ScheduleType type = ScheduleType::kConstant;
  double warmup_epochs = 0.0;           // linear from 0 to the base rate, before everything else
  std::vector<double> boundary_epochs;  // step: where the rate changes
  double factor = 0.1;                  // step: by how much, at each boundary
  double total_epochs = 0.0;            // cosine: where it ends
  double final_fraction = 0.0;          // cosine: of the base rate, at the end

  bool operator==(const ScheduleConfig&) const = default;
};

struct OptimizerConfig {
  OptimizerType type = OptimizerType::kSgd;
  double learning_rate = 0.1;
  double momentum = 0.0;
  double dampening = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  ScheduleConfig schedule;

  bool operator==(const OptimizerConfig&) const = default;
};

// A machine that takes workers.
struct HostConfig {
  std::string name;
  std::string address;              // numeric, in the network of the job
  std::vector<std::string> launch;  // words before a command that is to run there; none: here
  std::uint32_t workers = 1;        // how many it takes

  bool operator==(const HostConfig&) const = default;
};

struct ClusterConfig {
  std::uint32_t workers = 1;                 // K
  double price_per_worker_hour = 0.0;        // dollars; 0: costs nothing
  std::uint32_t threads_per_worker = 0;      // 0: cores of the host / processes that compute there
  std::string listen_address = "127.0.0.1";  // the controller's, and of shards beside it
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

enum class Split { kTrain, kTest };
enum class Metric { kAccuracy, kLoss };

struct TargetConfig {
  Metric metric = Metric::kAccuracy;
  Split split = Split::kTest;
  double value = 0.0;  // reached at >= for accuracy, at <= for loss

  bool operator==(const TargetConfig&) const = default;
};

// Whichever comes first. Zero means no limit.
struct StopConfig {
  std::optional<TargetConfig> target;
  double max_epochs = 0.0;
  std::uint64_t max_iterations = 0;
  double max_seconds = 0.0;  // of wall time, over all resumes

  bool operator==(const StopConfig&) const = default;
};

struct EvaluationConfig {
  double every_epochs = 1.0;
  std::uint64_t every_iterations = 0;  // wins over every_epochs where it is not 0
  std::uint32_t batch_size = 500;

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
  OptimizerConfig optimizer;
  std::uint32_t batch_size = 64;  // B, the global batch
  ClusterConfig cluster;
  PsConfig ps;
  SyncConfig sync;
  FaultsConfig faults;
  Device device = Device::kAutomatic;
  StopConfig stop;
  EvaluationConfig evaluation;
  CheckpointConfig checkpoint;
  LimitsConfig limits;

  bool operator==(const JobConfig&) const = default;
};

}  // namespace scavenger
