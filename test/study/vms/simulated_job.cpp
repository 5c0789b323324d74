#include "test/study/vms/simulated_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "perfmodel/plan/cost.h"

namespace scavenger::elastic {
namespace {

using Random = std::mt19937_64;

constexpr double kSamplesPerEpoch = 50000.0;
constexpr double kIterations = 100.0;  // of each measurement
constexpr double kIterationSpread = 0.05;
constexpr double kStandstillSeconds = 1.0;

double between(Random& random, double low, double high) {
  return std::uniform_real_distribution(low, high)(random);
}

double log_between(Random& random, double low, double high) {
  return std::exp(between(random, std::log(low), std::log(high)));
}

double normal(Random& random, double spread) {
  return std::normal_distribution(0.0, 1.0)(random) * spread;
}

// Student's t with four degrees of freedom, of standard deviation `spread`.
double heavy(Random& random, double spread) {
  return std::student_t_distribution(4.0)(random) * spread / std::sqrt(2.0);
}

template <typename Kind>
Kind one_of(Random& random, std::size_t kinds) {
  return static_cast<Kind>(std::uniform_int_distribution<std::size_t>(0, kinds - 1)(random));
}

}  // namespace

SimulatedJob::SimulatedJob(std::uint64_t number) : number_(number) {
  Random random(number);
  draw_catalogue(random);
  draw_job(random);
  measure(random);
  draw_run(random);
}

// Six families in five sizes. Prices follow the catalogue's speed in part only, in rough steps.
void SimulatedJob::draw_catalogue(Random& random) {
  for (int family = 0; family < 6; ++family) {
    const double rate = std::exp(normal(random, 0.3));
    const double memory = std::exp(normal(random, 0.3));
    const double per_core = log_between(random, 0.4, 1.5);
    const double most_gbit = log_between(random, 8.0, 32.0);
    const double price = 0.04 * std::pow(rate, 0.6) * std::exp(normal(random, 0.2));
    const double quirk = normal(random, 0.2), memory_quirk = normal(random, 0.2);
    const double spot = between(random, 0.2, 0.5);
    for (const double cores : {2.0, 4.0, 8.0, 16.0, 32.0}) {
      VmType type;
      type.features.family = fmt::format("f{}", family);
      type.features.name = fmt::format("f{}-{:.0f}", family, cores);
      type.features.core_rate = 20000.0 * rate;
      type.features.rate = cores * *type.features.core_rate;
      type.features.memory_bandwidth = 5.0 * memory * cores;
      type.features.link = std::min(most_gbit, per_core * cores);
      type.vcpus = cores;
      type.price = std::ceil(100.0 * price * cores) / 100.0;
      type.spot_price = spot * type.price;
      types_.push_back(type);
      truth_.core_speeds.push_back(rate * std::exp(quirk + normal(random, 0.07)));
      truth_.memory_bandwidths.push_back(memory * cores *
                                         std::exp(memory_quirk + normal(random, 0.07)));
      truth_.links.push_back(*type.features.link / 8.0 * std::exp(normal(random, 0.15)));
    }
  }
}

void SimulatedJob::draw_job(Random& random) {
  truth_.compute = one_of<CloudTruth::Compute>(random, 5);
  truth_.sync = one_of<CloudTruth::Sync>(random, 4);
  truth_.overlap = one_of<CloudTruth::Overlap>(random, 3);
  truth_.epochs = one_of<CloudTruth::Epochs>(random, 3);
  truth_.sample_seconds = log_between(random, 0.003, 0.1);
  truth_.launch_seconds = log_between(random, 0.005, 0.1);
  truth_.serial_share = between(random, 0.01, 0.1);
  truth_.memory_seconds = truth_.sample_seconds * log_between(random, 0.3, 3.0);
  truth_.cache_samples = log_between(random, 16.0, 256.0);
  truth_.host_cores = between(random, 2.0, 12.0);
  truth_.gigabytes = log_between(random, 0.005, 0.4);
  truth_.server_link = log_between(random, 1.0, 8.0);
  truth_.latency_seconds = log_between(random, 1e-4, 2e-3);
  truth_.least_epochs = log_between(random, 3.0, 40.0);
  truth_.critical_batch = log_between(random, 128.0, 4096.0);
  truth_.between_vms = between(random, 0.015, 0.05);
  truth_.drift = between(random, 0.01, 0.05);
  truth_.seed_spread = between(random, 0.02, 0.08);
  truth_.losses_per_hour = log_between(random, 0.02, 0.3);
  batches_ = {128.0, 256.0, 512.0};
  measured_type_ = std::uniform_int_distribution<std::size_t>(0, types_.size() - 1)(random);
  for (VmType& type : types_) type.spot_losses = truth_.losses_per_hour;
}

void SimulatedJob::measure(Random& random) {
  known_.title = "simulated";
  known_.record.name = "simulated";
  known_.record.signature = {"simulated", 1000, "simulated",
                             static_cast<std::uint64_t>(kSamplesPerEpoch), "sgd"};
  known_.state_is_elsewhere = truth_.sync == CloudTruth::Sync::kServer;
  const std::string& machine = types_[measured_type_].features.name;
  const double error = kIterationSpread / std::sqrt(kIterations);
  for (const double vms : {1.0, 2.0, 4.0}) {
    double slower = 0.0;  // of the mean speed: shares are dynamic
    for (double vm = 0.0; vm < vms; ++vm) slower += 1.0 / vm_slowdown(random) / vms;
    for (const double batch : batches_) {
      const double seconds = iteration_seconds(
          compute_seconds(measured_type_, batch / vms) / slower, truth_.links[measured_type_], vms);
      known_.record.times.push_back({"earlier", machine, vms, batch,
                                     seconds * std::exp(normal(random, error)), seconds * error,
                                     kIterations});
    }
  }
  for (const double batch : batches_)
    known_.record.epochs.push_back({"earlier", "test accuracy 0.9", 4.0, batch,
                                    epochs(batch) * std::exp(heavy(random, truth_.seed_spread)),
                                    0.0});
}

void SimulatedJob::draw_run(Random& random) {
  constexpr std::size_t kMostVms = 64;
  while (vm_slowdowns_.size() < kMostVms) vm_slowdowns_.push_back(vm_slowdown(random));
  job_slowdown_ = std::exp(heavy(random, truth_.seed_spread) + heavy(random, truth_.drift));
  start_seconds_ = log_between(random, 60.0, 130.0);
  luck_ = between(random, 0.0, 1.0);
}

std::size_t SimulatedJob::place_of(const std::string& type) const {
  const auto found =
      std::ranges::find(types_, type, [](const VmType& one) { return one.features.name; });
  return static_cast<std::size_t>(std::distance(types_.begin(), found));
}

double SimulatedJob::vm_slowdown(Random& random) const {
  const double lot = between(random, 0.0, 1.0), lemon = between(random, 1.15, 1.5);
  return std::exp(heavy(random, truth_.between_vms)) * (lot < 0.03 ? lemon : 1.0);
}

double SimulatedJob::compute_seconds(std::size_t type, double local_batch) const {
  const double cores = *types_[type].vcpus, speed = truth_.core_speeds[type];
  const double launch = truth_.launch_seconds / speed;
  const double work = local_batch * truth_.sample_seconds / speed;
  switch (truth_.compute) {
    case CloudTruth::Compute::kAmdahl:
      return launch + work * (truth_.serial_share + (1.0 - truth_.serial_share) / cores);
    case CloudTruth::Compute::kRoofline:
      return launch + std::max(work / std::pow(cores, 0.95), local_batch * truth_.memory_seconds /
                                                                 truth_.memory_bandwidths[type]);
    case CloudTruth::Compute::kCache:
      return launch +
             work / cores * (1.0 + 0.4 / (1.0 + std::pow(truth_.cache_samples / local_batch, 3.0)));
    case CloudTruth::Compute::kHost:
      return launch + std::max(work / cores, 0.3 * work / std::min(cores, truth_.host_cores));
    case CloudTruth::Compute::kSteps:
      break;
  }
  return launch + std::ceil(local_batch / cores) * truth_.sample_seconds / speed;
}

double SimulatedJob::iteration_seconds(double compute, double link, double vms) const {
  const double bytes = truth_.gigabytes, rounds = std::log2(vms);
  double sync = 0.0;
  switch (truth_.sync) {
    case CloudTruth::Sync::kServer:
      sync = 2.0 * bytes * std::max(1.0 / link, vms / truth_.server_link);
      break;
    case CloudTruth::Sync::kRing:
      sync = 2.0 * (vms - 1.0) * (bytes / vms / link + truth_.latency_seconds);
      break;
    case CloudTruth::Sync::kContention:
      sync = vms > 1.0 ? bytes / link * std::pow(vms, 0.35) + truth_.latency_seconds : 0.0;
      break;
    case CloudTruth::Sync::kRounds:
      sync = std::ceil(rounds) * (bytes / link + truth_.latency_seconds);
      break;
  }
  switch (truth_.overlap) {
    case CloudTruth::Overlap::kNone:
      return compute + sync;
    case CloudTruth::Overlap::kPart:
      return compute + std::max(0.3 * sync, sync - 0.6 * compute);
    case CloudTruth::Overlap::kWhole:
      break;
  }
  return std::max(compute, sync);
}

double SimulatedJob::epochs(double batch) const {
  const double ratio = batch / truth_.critical_batch;
  switch (truth_.epochs) {
    case CloudTruth::Epochs::kLine:
      return truth_.least_epochs * (1.0 + ratio);
    case CloudTruth::Epochs::kRoot:
      return truth_.least_epochs * std::sqrt(1.0 + ratio * ratio);
    case CloudTruth::Epochs::kPower:
      break;
  }
  return truth_.least_epochs * (1.0 + 0.5 * std::pow(ratio, 0.6));
}

JobResult SimulatedJob::expected(std::size_t type, double vms, double batch) const {
  const double seconds =
      90.0 + epochs(batch) * kSamplesPerEpoch / batch *
                 iteration_seconds(compute_seconds(type, batch / vms), truth_.links[type], vms);
  return {seconds, perfmodel::cluster_cost(seconds, vms, {.worker_per_hour = types_[type].price})};
}

JobResult SimulatedJob::run(const VmRow& row, perfmodel::Sharing sharing) const {
  double compute = 0.0, link = 1e9;
  std::size_t next = 0;  // VM
  for (const VmGroup& group : row.groups) {
    double speeds = 0.0, slowest = 0.0;
    for (double vm = 0.0; vm < group.vms; ++vm) {
      const double slower = vm_slowdowns_.at(next++);
      speeds += 1.0 / slower / group.vms;
      slowest = std::max(slowest, slower);
    }
    const bool even = sharing == perfmodel::Sharing::kEven;
    const std::size_t type = place_of(group.type);
    const double own = compute_seconds(type, group.share);
    compute = std::max(compute, own * (even ? slowest : 1.0 / speeds));
    link = std::min(link, truth_.links[type]);
  }
  double seconds = job_slowdown_ * epochs(row.batch) * kSamplesPerEpoch / row.batch *
                   iteration_seconds(compute, link, row.vms());
  double saved = 0.0;
  const double spot_vms = row.spot_share() * row.vms();
  if (spot_vms > 0.0) {
    const double mean = truth_.losses_per_hour * spot_vms * seconds / 3600.0;
    double losses = 0.0, probability = std::exp(-mean);
    for (double below = probability; below < luck_ && losses < 1000.0; below += probability)
      probability *= mean / ++losses;
    for (const VmGroup& group : row.groups)
      if (group.spot)
        saved += losses * group.vms / spot_vms * start_seconds_ / 3600.0 * group.price_per_hour;
    seconds += losses * (start_seconds_ / row.vms() + kStandstillSeconds);
  }
  seconds += start_seconds_;
  const perfmodel::ClusterPrice price{.worker_per_hour = row.price_per_hour / row.vms()};
  return {seconds, perfmodel::cluster_cost(seconds, row.vms(), price) - saved};
}

std::vector<perfmodel::TimeRow> SimulatedJob::audition(std::size_t type, double local_batch) const {
  Random random(number_ * 1000 + type);
  const double slower = vm_slowdown(random);
  const double error = kIterationSpread / std::sqrt(20.0);
  std::vector<perfmodel::TimeRow> rows;
  for (const double share : {0.25, 0.5, 1.0}) {
    const double samples = std::max(1.0, std::round(share * local_batch));
    if (!rows.empty() && rows.back().batch_size == samples) continue;
    const double seconds = slower * compute_seconds(type, samples);
    rows.push_back({"audition", types_[type].features.name, 1.0, samples,
                    seconds * std::exp(normal(random, error)), seconds * error, 20.0});
  }
  return rows;
}

VmQuestion drawn_question(const SimulatedJob& job, std::uint64_t number) {
  Random random(number + 77);
  double quickest = 1e18, cheapest = 1e18, slowest = 0.0, dearest = 0.0;
  for (std::size_t type = 0; type < job.types().size(); ++type)
    for (const double vms : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0})
      for (const double batch : job.batches()) {
        const JobResult one = job.expected(type, vms, batch);
        if (one.seconds < quickest) dearest = one.cost;
        if (one.cost < cheapest) slowest = one.seconds;
        quickest = std::min(quickest, one.seconds);
        cheapest = std::min(cheapest, one.cost);
      }
  VmQuestion question;
  question.most_vms = 64.0;
  question.policy = number % 2 == 0 ? Policy::kMinimumCost : Policy::kMinimumTime;
  question.spot = number % 4 >= 2;
  question.limits.max_seconds =
      log_between(random, 1.1 * quickest, std::max(1.5 * slowest, 1.2 * quickest));
  question.limits.max_cost =
      log_between(random, 1.1 * cheapest, std::max(1.2 * dearest, 1.2 * cheapest));
  return question;
}

}  // namespace scavenger::elastic
