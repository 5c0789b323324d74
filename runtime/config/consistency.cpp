#include "runtime/config/consistency.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "runtime/config/consistency_parts.h"
#include "runtime/config/metric.h"
#include "runtime/config/placement.h"

namespace scavenger {
namespace {

class ConsistencyCheck final {
 public:
  explicit ConsistencyCheck(const JobConfig& config) : config_(config) {}

  std::vector<Violation> run() && {
    check_data_config(config_, violations_);
    check_model_config(config_, violations_);
    check_optimizer();
    check_schedule();
    check_cluster();
    check_wire_precision();
    check_hierarchy();
    check_compute();
    check_all_reduce();
    check_hosts();
    check_provider();
    check_stop();
    check_model_store();
    check_batching();
    return std::move(violations_);
  }

 private:
  void check_optimizer();
  void check_schedule();
  void check_cluster();
  void check_wire_precision();
  void check_hierarchy();
  void check_compute();
  void check_all_reduce();
  void check_hosts();
  void check_addresses();
  void check_provider();
  void check_stop();
  void check_model_store();
  void check_batching();

  void fail(const std::string& place, std::string what, std::string remedy) {
    violations_.push_back({JsonPointer(place), std::move(what), std::move(remedy)});
  }

  const JobConfig& config_;
  std::vector<Violation> violations_;
};

std::string names_of(const std::vector<Metric>& metrics) {
  std::string names;
  for (const Metric metric : metrics)
    names += fmt::format("{}{}",
                         names.empty()              ? ""
                         : metric == metrics.back() ? " or "
                                                    : ", ",
                         name_of(metric));
  return names;
}

enum class AddressKind { kNone, kLoopback, kReachable };

// Returns the kind of a numeric address; none if it is not numeric, or stands for any address.
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
  const std::uint32_t port = config_.cluster.port;
  if (port != 0 && config_.ps.port != 0 && port >= config_.ps.port &&
      port < config_.ps.port + shards)
    fail("/cluster/port",
         fmt::format("port {} is that of shard {} as well", port, port - config_.ps.port),
         fmt::format("use another one: {} belong to the shards",
                     shards == 1
                         ? fmt::format("{}", port)
                         : fmt::format("{} to {}", config_.ps.port, config_.ps.port + shards - 1)));
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

void ConsistencyCheck::check_hierarchy() {
  if (config_.sync.hierarchy == SyncHierarchy::kAutomatic) return;
  if (config_.sync.strategy != SyncStrategy::kParameterServer)
    fail("/sync/hierarchy", "only workers of the parameter server add up host by host",
         "leave it at auto, or use the strategy parameter_server");
  if (config_.sync.hierarchy == SyncHierarchy::kNccl && config_.device == Device::kCpu)
    fail("/sync/hierarchy", "nccl works among GPUs, and the device is the CPU",
         "use on, or set device to cuda");
  if (uses_shared_memory(config_))
    fail("/sync/hierarchy", "in shared memory all workers are on one host, and send nothing",
         "leave it at auto, or set sync.transport to tcp");
}

// The CPU has no such products: the job would compute in float32.
void ConsistencyCheck::check_compute() {
  if (config_.compute.precision == Precision::kTf32 && config_.device == Device::kCpu)
    fail("/compute/precision", "tf32 is of GPUs, and the device is the CPU",
         "leave it at float32, or set device to auto or cuda");
}

void ConsistencyCheck::check_all_reduce() {
  const SyncConfig& sync = config_.sync;
  if (sync.strategy == SyncStrategy::kParameterServer) return;
  const bool is_own = sync.strategy == SyncStrategy::kAllReduce;
  if (is_own && config_.optimizer.type != OptimizerType::kPython)
    fail("/sync/strategy", "all_reduce is for optimizers that workers step in Python",
         "use parameter_server, or the optimizer python");
  const char* const name = is_own                                 ? "all_reduce"
                           : sync.strategy == SyncStrategy::kGloo ? "gloo"
                                                                  : "nccl";
  if (sync.strategy == SyncStrategy::kNccl && config_.device == Device::kCpu)
    fail("/sync/strategy", "nccl works among GPUs, and the device is the CPU",
         "use gloo or parameter_server, or set device to cuda");
  if (sync.wire_precision == WirePrecision::kBfloat16)
    fail("/sync/wire_precision", fmt::format("{} sends float32 only", name),
         "leave it at float32, or use the strategy parameter_server");
  const auto leaves_the_host = [](const HostConfig& host) {
    return kind_of(host.address) == AddressKind::kReachable;
  };
  const bool leaves_it =
      config_.provider.is_remote() || std::ranges::any_of(config_.cluster.hosts, leaves_the_host);
  if (!sync.allow_plaintext && leaves_it && !is_own)
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

// Machines come and go, so that only workers can run on them.
void ConsistencyCheck::check_provider() {
  if (!config_.provider.is_remote()) return;
  if (!config_.cluster.hosts.empty())
    fail("/cluster/hosts", "the provider says where workers run",
         "leave out cluster.hosts, or provider");
  if (config_.sync.transport == SyncTransport::kSharedMemory)
    fail("/sync/transport", "machines share no memory", "use tcp, or auto, or leave out provider");
  if (config_.ps.placement == ShardPlacement::kSpread)
    fail("/ps/placement", "a shard on a machine that may be taken away would take state along",
         "use controller, or auto");
}

// The processes of a job must reach each other at these addresses.
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
  if (!stop.target && !stop.early_stopping && stop.max_epochs == 0.0 && stop.max_iterations == 0 &&
      stop.max_seconds == 0.0)
    fail("/stop",
         stop.max_cost > 0.0 ? "the job would never end where machines cost nothing"
                             : "the job would never end",
         "set at least one of target, max_epochs, max_iterations, max_seconds and early_stopping");
  const std::vector<Metric> metrics = metrics_of(config_);
  const auto& early = stop.early_stopping;
  if (early && std::ranges::find(metrics, early->metric) == metrics.end())
    fail("/stop/early_stopping/metric",
         fmt::format("a job with these targets has no {}", name_of(early->metric)),
         "use " + names_of(metrics));
  if (!config_.evaluation.enabled && (stop.target || early))
    fail(stop.target ? "/stop/target" : "/stop/early_stopping",
         "evaluation.enabled is false, so nothing is measured that could reach it",
         "set evaluation.enabled to true; a script calls scavenger.evaluate(fn, dataset)");
  if (!stop.target) return;
  const double value = stop.target->value;
  if (std::ranges::find(metrics, stop.target->metric) == metrics.end())
    fail("/stop/target/metric",
         fmt::format("a job with these targets has no {}", name_of(stop.target->metric)),
         "use " + names_of(metrics));
  else if ((stop.target->metric == Metric::kAccuracy ||
            stop.target->metric == Metric::kTop5Accuracy) &&
           value > 1.0)
    fail("/stop/target/value", fmt::format("an accuracy of {} cannot be reached", value),
         "use a number above 0 and up to 1, such as 0.88 for 88 %");
  else if (stop.target->metric == Metric::kBleu && value > 100.0)
    fail("/stop/target/value", fmt::format("a BLEU of {} cannot be reached", value),
         "use a number above 0 and up to 100, such as 32");
  else if (stop.target->metric == Metric::kPerplexity && value <= 1.0)
    fail("/stop/target/value", fmt::format("a perplexity of {} cannot be reached", value),
         "use a number above 1");
}

void ConsistencyCheck::check_model_store() {
  const ModelStoreConfig& store = config_.model_store;
  if (!store.path.empty() && !store.url.empty())
    fail("/model_store", "measurements go to a file or to a service",
         "leave out path, or url with token_file");
  if (store.url.empty() == store.token_file.empty()) return;
  if (store.token_file.empty())
    fail("/model_store/url", "a service answers only who brings its token",
         "set model_store.token_file: scavenger-plan serve --token-file makes one");
  else
    fail("/model_store/token_file", "there is no service for this token", "set model_store.url");
}

void ConsistencyCheck::check_batching() {
  if (!config_.batching.dynamic) return;
  const std::uint32_t workers = config_.cluster.workers, batch_size = config_.batch_size;
  const std::uint64_t least = std::uint64_t{config_.batching.smallest_share} * workers;
  if (least > batch_size)
    fail("/batching/smallest_share",
         fmt::format("{} workers with {} samples each are more than the batch of {}", workers,
                     config_.batching.smallest_share, batch_size),
         fmt::format("use at most {}", batch_size / workers));
  std::uint64_t most = 0;
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    const std::uint32_t share = largest_share_of(config_, worker);
    most += share == 0 ? batch_size : share;
  }
  if (most < batch_size)
    fail(
        "/batching/largest_share",
        fmt::format("the workers may take {} samples together, and the batch has {}", most,
                    batch_size),
        "raise it (and cluster.hosts' largest_share), or use more workers or a smaller batch_size");
}

}  // namespace

std::vector<Violation> find_inconsistencies(const JobConfig& config) {
  return ConsistencyCheck(config).run();
}

}  // namespace scavenger
