// The model of machines on tables that others measured. Each check states a bound that holds with a
// margin; docs/results/machine_types.md has the numbers, and the targets that are not reached.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "perfmodel/machines/machine_model.h"
#include "test/unit/perfmodel/machines/machine_tables.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kRepeats = 0.015;  // scatter of a measurement, of ln(seconds)

MachineUse one_machine(double batch) {
  return {0, 1.0, 1.0, batch};
}

// Three local batches on a machine, the others held out.
HeldOutErrors three_probes(const BatchCurves& curves) {
  HeldOutErrors errors;
  for (const auto& [name, curve] : curves) {
    if (curve.size() < 4) continue;
    const std::vector<double> probes = three_of(curve);
    std::vector<MachineObservation> observed;
    for (const double batch : probes) observed.push_back({one_machine(batch), curve.at(batch), 0});
    MachineFeatures machine;
    machine.name = "machine";
    const MachineModel model({machine}, observed);
    for (const auto& [batch, seconds] : curve) {
      if (std::ranges::count(probes, batch) > 0) continue;
      const MachinePrediction p = model.predict(one_machine(batch));
      errors.add(p.log_mean, std::sqrt(p.log_variance + kRepeats * kRepeats), std::log(seconds));
    }
  }
  return errors;
}

TEST_CASE("PROFET: three local batches on a GPU type predict the others", "[tables]") {
  const HeldOutErrors errors = three_probes(profet_curves());
  if (errors.empty()) return;
  WARN("PROFET, 3 probes: " << errors.text());
  CHECK(errors.mean() < 0.035);
  CHECK(errors.quantile(0.9) < 0.08);
  CHECK(errors.coverage() > 0.85);
}

TEST_CASE("Sia: three local batches on one GPU predict the others", "[tables]") {
  const HeldOutErrors errors = three_probes(sia_one_gpu_curves());
  if (errors.empty()) return;
  WARN("Sia, one GPU, 3 probes: " << errors.text());
  CHECK(errors.mean() < 0.081);
  CHECK(errors.quantile(0.5) < 0.05);
  CHECK(errors.coverage() > 0.82);
}

// ---- Lynceus: a parameter server on four sizes of one family. ----

const std::map<std::string, double> kLynceusCores = {
    {"t2.small", 1.0}, {"t2.medium", 2.0}, {"t2.xlarge", 4.0}, {"t2.2xlarge", 8.0}};

// Seconds per iteration of one network and batch size, by type and workers: of three runs the
// median, and the standard error of their mean.
struct Repeated {
  double seconds = 0.0;
  double standard_error = 0.0;
};
using ClusterTimes = std::map<std::string, std::map<double, Repeated>>;

Repeated repeated(const std::vector<double>& values) {
  double mean = 0.0, squares = 0.0;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) mean += value / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {median(values), values.size() > 1 ? std::sqrt(squares / (n - 1.0) / n) : 0.0};
}

std::map<std::string, ClusterTimes> lynceus_times() {
  std::map<std::string, std::map<std::string, std::map<double, std::vector<double>>>> repeats;
  for (const std::string network : {"cnn", "rnn"})
    for (const TableRow& row : machine_table("lynceus_tf_" + network + ".csv")) {
      const double iterations = std::stod(row.at("total_iterations"));
      if (row.at("synchronism") != "sync" || iterations <= 0.0) continue;
      repeats[network + " " + row.at("batch_size")][row.at("vm_flavor")]
             [std::stod(row.at("n_workers"))]
                 .push_back(std::stod(row.at("training_time")) / iterations);
    }
  std::map<std::string, ClusterTimes> times;
  for (const auto& [job, types] : repeats)
    for (const auto& [type, counts] : types)
      for (const auto& [workers, seconds] : counts) times[job][type][workers] = repeated(seconds);
  return times;
}

// Each type held out in turn but for its fewest and most workers, or entirely.
HeldOutErrors lynceus_errors(bool with_probes) {
  HeldOutErrors errors;
  std::vector<MachineFeatures> types;
  for (const auto& [name, cores] : kLynceusCores)
    types.push_back({.name = name,
                     .family = "t2",
                     .rate = cores,
                     .core_rate = 1.0,
                     .memory_bandwidth = {},
                     .link = cores});
  for (const auto& [job, table] : lynceus_times()) {
    const double batch = std::stod(job.substr(job.find(' ')));
    for (std::size_t held = 0; held < types.size(); ++held) {
      std::vector<MachineObservation> observed;
      const std::map<double, Repeated>& own = table.at(types[held].name);
      const std::set<double> probes = {own.begin()->first, own.rbegin()->first};
      for (std::size_t type = 0; type < types.size(); ++type)
        for (const auto& [workers, time] : table.at(types[type].name))
          if (type != held || (with_probes && probes.contains(workers)))
            observed.push_back({{type, workers, 1.0, batch}, time.seconds, time.standard_error});
      const MachineModel model(types, observed);
      for (const auto& [workers, time] : own) {
        if (with_probes && probes.contains(workers)) continue;
        const MachinePrediction p = model.predict({held, workers, 1.0, batch});
        errors.add(p.log_mean, std::sqrt(p.log_variance + kRepeats * kRepeats),
                   std::log(time.seconds));
      }
    }
  }
  return errors;
}

TEST_CASE("Lynceus: two probes on a VM type, and other types, predict its cluster sizes",
          "[tables]") {
  const HeldOutErrors errors = lynceus_errors(true);
  if (errors.empty()) return;
  WARN("Lynceus, type held out, 2 probes: " << errors.text());
  CHECK(errors.mean() < 0.13);
  CHECK(errors.coverage() > 0.8);
}

TEST_CASE("Lynceus: other VM types of the family predict one that was never tried", "[tables]") {
  const HeldOutErrors errors = lynceus_errors(false);
  if (errors.empty()) return;
  WARN("Lynceus, type held out, no probe: " << errors.text());
  CHECK(errors.mean() < 0.35);
  CHECK(errors.coverage() > 0.8);
}

}  // namespace
}  // namespace scavenger::perfmodel
