#include "runtime/config/consistency.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "runtime/config/placement.h"

namespace scavenger {
namespace {

class ConsistencyCheck final {
 public:
  explicit ConsistencyCheck(const JobConfig& config) : config_(config) {}

  std::vector<Violation> run() && {
    check_sources();
    check_sample_shape();
    check_normalise();
    check_augment();
    check_model();
    check_optimizer();
    check_schedule();
    check_cluster();
    check_wire_precision();
    check_all_reduce();
    check_hosts();
    check_stop();
    return std::move(violations_);
  }

 private:
  void check_sources();
  void check_synthetic_splits();
  void check_label_column(const DataSourceConfig& source, const char* place);
  void check_sample_shape();
  void check_normalise();
  void check_augment();
  void check_model();
  void check_optimizer();
  void check_schedule();
  void check_cluster();
  void check_wire_precision();
  void check_all_reduce();
  void check_hosts();
  void check_addresses();
  void check_stop();

  bool is_image() const;
  // {channels, height, width}, where it is known before the data is read.
  std::optional<std::vector<std::int64_t>> known_image_shape() const;
  void fail(const std::string& place, std::string what, std::string remedy) {
    violations_.push_back({JsonPointer(place), std::move(what), std::move(remedy)});
  }

  const JobConfig& config_;
  std::vector<Violation> violations_;
};

enum class AddressKind { kNone, kLoopback, kReachable };

// Of a numeric address; none: not numeric, or one that stands for any.
AddressKind kind_of(const std::string& address) {
  in_addr v4{};
  if (inet_pton(AF_INET, address.c_str(), &v4) == 1) {
    if (v4.s_addr == INADDR_ANY) return AddressKind::kNone;
    return (ntohl(v4.s_addr) >> 24) == IN_LOOPBACKNET ? AddressKind::kLoopback
                                                      : AddressKind::kReachable;
  }
  in6_addr v6{};
  if (inet_pton(AF_INET6, address.c_str(), &v6) != 1 || IN6_IS_ADDR_UNSPECIFIED(&v6))
    return AddressKind::kNone;
  return IN6_IS_ADDR_LOOPBACK(&v6) ? AddressKind::kLoopback : AddressKind::kReachable;
}

constexpr const char* kImageRemedy =
    "use images (format idx or cifar10), or set data.sample_shape to [channels, height, width]";

bool ConsistencyCheck::is_image() const {
  const DataConfig& data = config_.data;
  if (!data.sample_shape.empty()) return data.sample_shape.size() == 3;
  return data.train.format == DataFormat::kIdx || data.train.format == DataFormat::kCifar10;
}

std::optional<std::vector<std::int64_t>> ConsistencyCheck::known_image_shape() const {
  if (config_.data.sample_shape.size() == 3) return config_.data.sample_shape;
  if (config_.data.sample_shape.empty() && config_.data.train.format == DataFormat::kCifar10)
    return std::vector<std::int64_t>{3, 32, 32};
  return std::nullopt;
}

void ConsistencyCheck::check_sources() {
  const DataConfig& data = config_.data;
  if (data.train.format != data.test.format) {
    fail("/data/test/format", "the test data has another format than the training data",
         "use one format for both");
  } else if (data.train.format == DataFormat::kSynthetic) {
    check_synthetic_splits();
  }
  check_label_column(data.train, "/data/train/label_column");
  check_label_column(data.test, "/data/test/label_column");
}

void ConsistencyCheck::check_synthetic_splits() {
  const DataSourceConfig& train = config_.data.train;
  const DataSourceConfig& test = config_.data.test;
  if (train.feature_count != test.feature_count)
    fail("/data/test/feature_count",
         fmt::format("test samples have {} features and training samples {}", test.feature_count,
                     train.feature_count),
         "use the same number");
  if (test.first_sample < train.first_sample + train.samples &&
      train.first_sample < test.first_sample + test.samples)
    fail("/data/test/first_sample", "the test data repeats samples of the training data",
         fmt::format("start it at {} or later", train.first_sample + train.samples));
  if (config_.batch_size > train.samples)
    fail("/batch_size",
         fmt::format("a batch of {} is more than the {} training samples", config_.batch_size,
                     train.samples),
         fmt::format("use at most {}", train.samples));
}

void ConsistencyCheck::check_label_column(const DataSourceConfig& source, const char* place) {
  const std::string& column = source.label_column;
  const bool is_name =
      column != "last" && column.find_first_not_of("0123456789") != std::string::npos;
  if (source.format == DataFormat::kCsv && is_name && !source.has_header)
    fail(place, fmt::format("column \"{}\" is a name, and the files have no header line", column),
         "set has_header to true, or give the column's index from 0, or \"last\"");
}

void ConsistencyCheck::check_sample_shape() {
  const std::vector<std::int64_t>& shape = config_.data.sample_shape;
  if (shape.empty()) return;
  if (shape.size() == 2)
    fail("/data/sample_shape", "a sample cannot have 2 dimensions",
         "use [channels, height, width] or [features]");
  constexpr std::int64_t kMostValues = 1 << 24;  // keeps the product far from overflow
  std::int64_t values = 1;
  for (const std::int64_t size : shape) values = std::min(values * size, kMostValues + 1);
  std::int64_t expected = values;
  if (config_.data.train.format == DataFormat::kCifar10) expected = 3 * 32 * 32;
  if (config_.data.train.format == DataFormat::kSynthetic)
    expected = static_cast<std::int64_t>(config_.data.train.feature_count);
  if (values > kMostValues) {
    fail("/data/sample_shape", "a sample of this shape is too large",
         fmt::format("use at most {} values", kMostValues));
  } else if (values != expected) {
    fail("/data/sample_shape",
         fmt::format("this shape has {} values, and a sample has {}", values, expected),
         "correct it, or leave it out");
  }
}

void ConsistencyCheck::check_normalise() {
  if (!config_.data.normalise) return;
  const std::size_t means = config_.data.normalise->mean.size();
  const std::size_t deviations = config_.data.normalise->standard_deviation.size();
  const auto shape = known_image_shape();
  if (means != deviations) {
    fail("/data/normalise/standard_deviation",
         fmt::format("{} standard deviations do not fit {} means", deviations, means),
         "give as many of one as of the other");
  } else if (shape && means != 1 && means != static_cast<std::size_t>(shape->front())) {
    fail("/data/normalise/mean",
         fmt::format("{} means do not fit {} channels", means, shape->front()),
         "give one per channel, or one for all");
  }
}

void ConsistencyCheck::check_augment() {
  if (is_image()) return;
  if (config_.data.augment.flip)
    fail("/data/augment/flip", "only images can be flipped", kImageRemedy);
  if (config_.data.augment.crop_padding > 0)
    fail("/data/augment/crop_padding", "only images can be cropped", kImageRemedy);
}

void ConsistencyCheck::check_model() {
  if (config_.model.type == ModelType::kMlp) return;
  if (!is_image()) {
    fail("/model/type", "a convolutional network needs images", kImageRemedy);
    return;
  }
  const auto shape = known_image_shape();
  if (!shape) return;
  if (config_.model.type == ModelType::kResNet18) {
    if (std::min(shape->at(1), shape->at(2)) < kResNet18SmallestSide)
      fail("/model/type",
           fmt::format("{} x {} pixels are too small for resnet18", shape->at(1), shape->at(2)),
           fmt::format("use a cnn, or images of at least {0} x {0} pixels", kResNet18SmallestSide));
    return;
  }
  const std::size_t layers = config_.model.channels.size();
  const std::int64_t side = std::min(shape->at(1), shape->at(2));
  std::size_t most_layers = 0;
  while ((side >> (most_layers + 1)) > 0) ++most_layers;
  if (layers > most_layers)
    fail("/model/channels",
         fmt::format("nothing is left of {} x {} pixels after {} times 2x2 pooling", shape->at(1),
                     shape->at(2), layers),
         fmt::format("use at most {} convolutions", most_layers));
}

void ConsistencyCheck::check_optimizer() {
  const OptimizerConfig& optimizer = config_.optimizer;
  if (!optimizer.nesterov) return;
  if (optimizer.momentum <= 0.0)
    fail("/optimizer/nesterov", "Nesterov's method needs momentum", "set momentum, say to 0.9");
  if (optimizer.dampening != 0.0)
    fail("/optimizer/dampening", "Nesterov's method does not go with dampening",
         "set dampening to 0, or nesterov to false");
}

void ConsistencyCheck::check_schedule() {
  const ScheduleConfig& schedule = config_.optimizer.schedule;
  const std::vector<double>& boundaries = schedule.boundary_epochs;
  if (std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>()) !=
      boundaries.end())
    fail("/optimizer/schedule/boundary_epochs", "the boundaries do not increase",
         "list them from the first to the last");
  else if (!boundaries.empty() && boundaries.front() < schedule.warmup_epochs)
    fail("/optimizer/schedule/boundary_epochs",
         fmt::format("the first boundary, {}, is within the warm-up of {} epochs",
                     boundaries.front(), schedule.warmup_epochs),
         "warm up for a shorter time, or start later");
  if (schedule.type == ScheduleType::kCosine && schedule.total_epochs <= schedule.warmup_epochs)
    fail("/optimizer/schedule/total_epochs",
         fmt::format("the schedule ends at {}, before the warm-up of {} epochs",
                     schedule.total_epochs, schedule.warmup_epochs),
         "warm up for a shorter time, or end later");
}

void ConsistencyCheck::check_cluster() {
  if (config_.cluster.workers > config_.batch_size)
    fail("/cluster/workers",
         fmt::format("{} workers cannot share a batch of {}: each needs a sample",
                     config_.cluster.workers, config_.batch_size),
         fmt::format("use at most {} workers, or a larger batch_size", config_.batch_size));
  constexpr std::uint32_t kLastPort = 65535;
  const std::uint32_t shards = shard_count(config_);
  if (config_.ps.port != 0 && shards > 0 && config_.ps.port + shards - 1 > kLastPort)
    fail("/ps/port",
         fmt::format("{} shards from port {} on go past port {}", shards, config_.ps.port,
                     kLastPort),
         fmt::format("use at most {}", kLastPort - shards + 1));
  if (config_.sync.transport == SyncTransport::kSharedMemory &&
      (config_.ps.shards > 1 || config_.ps.port != 0))
    fail("/sync/transport", "in shared memory there is one shard, and it has no port",
         "use tcp, or leave ps.shards and ps.port automatic");
}

void ConsistencyCheck::check_wire_precision() {
  if (config_.sync.wire_precision == WirePrecision::kBfloat16 && uses_shared_memory(config_))
    fail("/sync/wire_precision", "in shared memory nothing is sent that could be rounded",
         "leave it at float32, or set sync.transport to tcp");
}

void ConsistencyCheck::check_all_reduce() {
  const SyncConfig& sync = config_.sync;
  if (sync.strategy == SyncStrategy::kParameterServer) return;
  const char* const name = sync.strategy == SyncStrategy::kGloo ? "gloo" : "nccl";
  if (sync.strategy == SyncStrategy::kNccl && config_.device == Device::kCpu)
    fail("/sync/strategy", "nccl works among GPUs, and the device is the CPU",
         "use gloo or parameter_server, or set device to cuda");
  if (sync.wire_precision == WirePrecision::kBfloat16)
    fail("/sync/wire_precision", fmt::format("{} sends float32 only", name),
         "leave it at float32, or use the strategy parameter_server");
  const auto leaves_the_host = [](const HostConfig& host) {
    return kind_of(host.address) == AddressKind::kReachable;
  };
  if (!sync.allow_plaintext && std::ranges::any_of(config_.cluster.hosts, leaves_the_host))
    fail("/sync/strategy", fmt::format("{} does not encrypt what it sends from host to host", name),
         "use parameter_server, which does; or, in a network that only you can read, set "
         "sync.allow_plaintext to true");
}

void ConsistencyCheck::check_hosts() {
  check_addresses();
  const ClusterConfig& cluster = config_.cluster;
  if (cluster.hosts.empty()) return;
  if (places(cluster) < cluster.workers)
    fail("/cluster/hosts",
         fmt::format("the hosts take {} workers, and there are {}", places(cluster),
                     cluster.workers),
         "add a host, raise `workers` of one, or use fewer cluster.workers");
  if (config_.sync.transport == SyncTransport::kSharedMemory)
    fail("/sync/transport", "hosts share no memory",
         "use tcp, or auto, or leave out cluster.hosts");
  std::set<std::string> names;
  for (std::size_t i = 0; i < cluster.hosts.size(); ++i)
    if (!names.insert(cluster.hosts[i].name).second)
      fail(fmt::format("/cluster/hosts/{}/name", i),
           fmt::format("there are two hosts \"{}\"", cluster.hosts[i].name),
           "give each a name of its own; one host that takes several workers has `workers`");
}

// Processes of a job must reach each other at these addresses.
void ConsistencyCheck::check_addresses() {
  const std::string& controller = config_.cluster.listen_address;
  const auto check_numeric = [this](const std::string& place, const std::string& address) {
    if (kind_of(address) == AddressKind::kNone)
      fail(place,
           fmt::format("\"{}\" is not an address at which others can reach a machine", address),
           "use a numeric one, such as 10.0.0.7");
    return kind_of(address) != AddressKind::kNone;
  };
  if (!check_numeric("/cluster/listen_address", controller)) return;
  for (std::size_t i = 0; i < config_.cluster.hosts.size(); ++i) {
    const HostConfig& host = config_.cluster.hosts[i];
    if (!check_numeric(fmt::format("/cluster/hosts/{}/address", i), host.address)) continue;
    if (kind_of(host.address) == kind_of(controller)) continue;
    if (kind_of(controller) == AddressKind::kLoopback)
      fail("/cluster/listen_address",
           fmt::format("host \"{}\" ({}) cannot reach the controller at {}", host.name,
                       host.address, controller),
           "set it to this machine's address in the network of the hosts");
    else
      fail(fmt::format("/cluster/hosts/{}/address", i),
           fmt::format("other hosts cannot reach host \"{}\" at {}", host.name, host.address),
           "set it to the host's address in the network of cluster.listen_address");
    return;
  }
}

void ConsistencyCheck::check_stop() {
  const StopConfig& stop = config_.stop;
  if (!stop.target && stop.max_epochs == 0.0 && stop.max_iterations == 0 && stop.max_seconds == 0.0)
    fail("/stop", "the job would never end",
         "set at least one of target, max_epochs, max_iterations and max_seconds");
  if (stop.target && stop.target->metric == Metric::kAccuracy && stop.target->value > 1.0)
    fail("/stop/target/value",
         fmt::format("an accuracy of {} cannot be reached", stop.target->value),
         "use a number above 0 and up to 1, such as 0.88 for 88 %");
}

}  // namespace

std::vector<Violation> find_inconsistencies(const JobConfig& config) {
  return ConsistencyCheck(config).run();
}

}  // namespace scavenger
