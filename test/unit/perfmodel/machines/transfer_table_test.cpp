// What stored jobs teach, on tables that others measured (docs/results/machine_types.md).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "perfmodel/machines/machine_model.h"
#include "perfmodel/machines/transfer.h"
#include "test/unit/perfmodel/machines/machine_tables.h"

namespace scavenger::perfmodel {
namespace {

// ---- PROFET: a type on which the job never ran, from another one on which it did. ----

struct FactorRows {  // of one job
  std::string family;
  std::vector<std::vector<double>> features;
  std::vector<double> log_factors;  // of the target's seconds to the anchor's
};

// The network's family, whose members are held out together: its name up to its first digit.
std::string family_of(const std::string& network) {
  return network.substr(0, std::min<std::size_t>(5, network.find_first_of("0123456789")));
}

double step_at(double x, double place) {
  return 1.0 / (1.0 + std::exp(-1.5 * (x - place)));
}

std::vector<FactorRows> factor_rows(const BatchCurves& curves, const std::string& anchor,
                                    const std::string& target) {
  std::vector<FactorRows> jobs;
  for (const auto& [name, curve] : curves) {
    const std::size_t at = name.rfind(' ');
    const auto other = curves.find(name.substr(0, at) + " " + target);
    if (name.substr(at + 1) != anchor || other == curves.end() || curve.size() < 3) continue;
    MachineFeatures machine;
    machine.name = anchor;
    std::vector<MachineObservation> observed;
    for (const auto& [batch, seconds] : curve)
      observed.push_back({{0, 1.0, 1.0, batch}, seconds, 0.0});
    const MachineModel model({machine}, observed);
    const double base = std::exp(model.best().parameters(0)[kLogBase]);
    FactorRows job{family_of(name), {}, {}};
    for (const auto& [batch, seconds] : other->second) {
      if (!curve.contains(batch)) continue;
      const double level = std::log(curve.at(batch)) + 3.0;
      const double overhead = std::min(1.0, base / curve.at(batch));
      job.features.push_back({1.0, level, overhead, std::log(batch / 64.0), step_at(level, -1.5),
                              step_at(level, 0.0), step_at(level, 1.5)});
      job.log_factors.push_back(std::log(seconds / curve.at(batch)));
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

TransferJob transfer_job(const std::vector<std::vector<double>>& features,
                         const std::vector<double>& values, std::size_t group) {
  TransferJob job{Matrix(features.size(), features.front().size()), values, group};
  for (std::size_t i = 0; i < features.size(); ++i)
    std::ranges::copy(features[i], job.features.row(i).begin());
  return job;
}

TEST_CASE("PROFET: a GPU type never tried is predicted better than by one speed factor",
          "[tables]") {
  const BatchCurves curves = profet_curves();
  if (curves.empty()) return;
  const std::string anchor = "g4dn.xlarge";
  for (const std::string target : {"g3s.xlarge", "p3.2xlarge"}) {
    const std::vector<FactorRows> jobs = factor_rows(curves, anchor, target);
    std::map<std::string, std::size_t> families;
    for (const FactorRows& job : jobs) families.emplace(job.family, families.size());
    HeldOutErrors ours, factor;
    for (const auto& [family, group] : families) {
      std::vector<TransferJob> stored;
      std::vector<double> factors;
      for (const FactorRows& job : jobs)
        if (job.family != family) {
          stored.push_back(transfer_job(job.features, job.log_factors, families[job.family]));
          factors.insert(factors.end(), job.log_factors.begin(), job.log_factors.end());
        }
      const TransferPosterior prior =
          Transfer(stored, {.intercept_spread = 0.14, .probes = 0}).prior();
      for (const FactorRows& job : jobs) {
        if (job.family != family) continue;
        for (std::size_t i = 0; i < job.features.size(); ++i) {
          const TransferPrediction p = prior.predict(job.features[i]);
          ours.add(p.mean, std::sqrt(p.variance), job.log_factors[i]);
          factor.add(median(factors), 1.0, job.log_factors[i]);
        }
      }
    }
    WARN("PROFET, no probe, " << anchor << " to " << target << ": " << ours.text()
                              << "; one speed factor: " << factor.text());
    CHECK(ours.mean() < (target == "p3.2xlarge" ? 0.8 : 1.0) * factor.mean());
    CHECK(ours.coverage() > 0.8);
  }
}

// ---- Scout: whole jobs on CPU types, each with several sizes. ----

struct ScoutRun {
  std::string type;
  double nodes = 0.0;
  double log_seconds = 0.0;
};

std::vector<double> scout_features(const ScoutRun& run) {
  static const std::map<std::string, double> kCores = {
      {"large", 2.0}, {"xlarge", 4.0}, {"2xlarge", 8.0}};
  static const std::map<std::string, double> kGibPerCore = {
      {"c4", 1.875}, {"m4", 4.0}, {"r4", 7.6}};
  const double cores = kCores.at(run.type.substr(3));
  const double x = std::log(run.nodes * cores / 55.0);
  const double size = std::log(cores / 4.0);
  const double memory = std::log(kGibPerCore.at(run.type.substr(0, 2)) / 4.0);
  return {1.0, x, size, memory, x * x, x * size, x * memory, size * memory, memory * memory};
}

std::map<std::string, std::vector<ScoutRun>> scout_runs() {
  std::map<std::string, std::vector<ScoutRun>> jobs;
  for (const TableRow& row : machine_table("scout_multi.csv"))
    jobs[row.at("workload") + " " + row.at("framework") + " " + row.at("datasize")].push_back(
        {row.at("vm_type"), std::stod(row.at("nodes")), std::log(std::stod(row.at("elapsed_s")))});
  for (auto& [name, runs] : jobs)
    std::ranges::sort(runs, {}, [](const ScoutRun& r) { return std::pair(r.type, r.nodes); });
  return jobs;
}

TransferJob scout_job(const std::vector<ScoutRun>& runs, std::size_t group) {
  std::vector<std::vector<double>> features;
  std::vector<double> values;
  for (const ScoutRun& run : runs) {
    features.push_back(scout_features(run));
    values.push_back(run.log_seconds);
  }
  return transfer_job(features, values, group);
}

std::string program_of(const std::string& job) {
  return job.substr(0, job.find(' '));
}

std::vector<ScoutRun> of_type(const std::vector<ScoutRun>& runs, const std::string& type) {
  std::vector<ScoutRun> found;
  std::ranges::copy_if(runs, std::back_inserter(found),
                       [&](const ScoutRun& run) { return run.type == type; });
  return found;
}

TEST_CASE("Scout: three sizes of one type, one of another, and other programs predict the rest",
          "[tables]") {
  const auto jobs = scout_runs();
  if (jobs.empty()) return;
  HeldOutErrors errors;
  for (const auto& [name, runs] : jobs) {
    std::vector<TransferJob> stored;
    for (const auto& [other, other_runs] : jobs)
      if (program_of(other) != program_of(name))
        stored.push_back(scout_job(other_runs, stored.size()));
    const Transfer transfer(stored, {.intercept_spread = 3.0, .spreads = {0.3}});
    std::set<std::string> types;
    for (const ScoutRun& run : runs) types.insert(run.type);
    for (const std::string& target : types)
      for (const std::string& known : types) {
        const auto wanted = of_type(runs, target), own = of_type(runs, known);
        if (known == target || own.size() < 3 || wanted.size() < 2) continue;
        const std::size_t probe = wanted.size() / 2;
        const TransferJob seen =
            scout_job({own.front(), own[own.size() / 2], own.back(), wanted[probe]}, 0);
        const TransferPosterior after = transfer.after(seen.features, seen.values);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          if (i == probe) continue;
          const TransferPrediction p = after.predict(scout_features(wanted[i]));
          errors.add(p.mean, std::sqrt(p.variance), wanted[i].log_seconds);
        }
      }
  }
  WARN("Scout, type held out, 3 sizes of another and 1 probe: " << errors.text());
  CHECK(errors.mean() < 0.2);
  CHECK(errors.quantile(0.5) < 0.12);
  CHECK(errors.coverage() > 0.85);
  CHECK(errors.coverage() < 0.95);
}

}  // namespace
}  // namespace scavenger::perfmodel
