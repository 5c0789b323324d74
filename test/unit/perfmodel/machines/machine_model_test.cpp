#include "perfmodel/machines/machine_model.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

MachineFeatures type_of(const std::string& name, double rate, double bandwidth, double link) {
  return {.name = name,
          .family = name,
          .rate = rate,
          .core_rate = 1.0,
          .memory_bandwidth = bandwidth,
          .link = link};
}

// What is true of a job that is not of the model's form: compute that is partly bound by memory,
// and a ring beside half of it.
double truth(const MachineFeatures& type, double vms, double batch) {
  const double samples =
      0.001 * batch * std::pow(1.0 / *type.rate, 0.7) * std::pow(1.0 / *type.memory_bandwidth, 0.3);
  const double compute = 0.01 + samples;
  const double ring = vms > 1.0 ? 0.02 * 2.0 * (vms - 1.0) / vms / *type.link : 0.0;
  return compute + std::max(0.0, ring - 0.5 * compute);
}

MachineObservation observe(const std::vector<MachineFeatures>& types, std::size_t type, double vms,
                           double batch) {
  return {{type, vms, 1.0, batch}, truth(types[type], vms, batch), 0.0};
}

TEST_CASE("Three local batches on one machine predict the others, and a type never tried widely") {
  const std::vector<MachineFeatures> types = {type_of("a", 1.0, 1.0, 1.0),
                                              type_of("b", 2.0, 1.5, 1.0)};
  std::vector<MachineObservation> observed;
  for (const double batch : {8.0, 64.0, 512.0}) observed.push_back(observe(types, 0, 1.0, batch));
  const MachineModel model(types, observed);
  const MachinePrediction same = model.predict({0, 1.0, 1.0, 128.0});
  CHECK(std::exp(same.log_mean) == Approx(truth(types[0], 1.0, 128.0)).epsilon(0.03));
  const MachinePrediction other = model.predict({1, 1.0, 1.0, 128.0});
  CHECK(other.log_variance > 9.0 * same.log_variance);
  CHECK(other.quantile(0.05) < truth(types[1], 1.0, 128.0));
  CHECK(other.quantile(0.95) > truth(types[1], 1.0, 128.0));
}

TEST_CASE("After an audition of three local batches a type is predicted to 8 percent") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> log_factor(-1.0, 1.0);
  double errors = 0.0, count = 0.0;
  for (int job = 0; job < 5; ++job) {
    std::vector<MachineFeatures> types;
    for (std::size_t t = 0; t < 3; ++t)
      types.push_back(type_of(std::string(1, static_cast<char>('a' + t)),
                              std::exp(log_factor(random)), std::exp(log_factor(random)),
                              std::exp(0.5 * log_factor(random))));
    std::vector<MachineObservation> observed;
    for (const double vms : {1.0, 4.0})
      for (const double batch : {8.0, 32.0, 128.0})
        observed.push_back(observe(types, 0, vms, batch));
    for (std::size_t t = 1; t < 3; ++t)
      for (const double batch : {8.0, 32.0, 128.0})
        observed.push_back(observe(types, t, 2.0, batch));
    const MachineModel model(types, observed);
    for (std::size_t t = 1; t < 3; ++t)
      for (const double vms : {1.0, 2.0, 4.0})
        for (const double batch : {16.0, 64.0}) {
          const double predicted = std::exp(model.predict({t, vms, 1.0, batch}).log_mean);
          errors += std::abs(predicted / truth(types[t], vms, batch) - 1.0);
          ++count;
        }
  }
  CHECK(errors / count < 0.08);
}

TEST_CASE("A probe is worth more where nothing is known") {
  const std::vector<MachineFeatures> types = {type_of("a", 1.0, 1.0, 1.0),
                                              type_of("b", 2.0, 1.5, 1.0)};
  const MachineModel model(types, {observe(types, 0, 1.0, 8.0), observe(types, 0, 1.0, 64.0)});
  const MachineUse asked{1, 1.0, 1.0, 32.0};
  const double now = model.predict(asked).log_variance;
  const double elsewhere = model.variance_after(asked, {0, 1.0, 1.0, 32.0});
  const double there = model.variance_after(asked, {1, 1.0, 1.0, 64.0});
  CHECK(there < 0.5 * now);
  CHECK(there < elsewhere);
}

TEST_CASE("A machine whose features nobody knows has wider bars than one whose features are") {
  MachineFeatures unknown;
  unknown.name = "c";
  const std::vector<MachineFeatures> types = {type_of("a", 1.0, 1.0, 1.0),
                                              type_of("b", 2.0, 1.0, 1.0), unknown};
  const MachineModel model(types, {observe(types, 0, 1.0, 8.0), observe(types, 0, 1.0, 64.0)});
  CHECK(model.predict({2, 1.0, 1.0, 32.0}).log_variance >
        1.5 * model.predict({1, 1.0, 1.0, 32.0}).log_variance);
}

TEST_CASE("Beside a machine whose features nobody knows, types differ as their features say") {
  MachineFeatures unknown;
  unknown.name = "c";
  const std::vector<MachineFeatures> types = {type_of("a", 0.25, 0.25, 1.0),
                                              type_of("b", 0.5, 0.5, 1.0),
                                              type_of("d", 8.0, 8.0, 1.0), unknown};
  const std::vector<MachineObservation> measured = {{{3, 1.0, 1.0, 64.0}, 0.4, 0.0},
                                                    {{3, 1.0, 1.0, 512.0}, 3.2, 0.0}};
  const MachineModel model(types, measured);
  const MachinePrediction a = model.predict({0, 1.0, 1.0, 512.0});
  const MachinePrediction b = model.predict({1, 1.0, 1.0, 512.0});
  CHECK(a.log_mean - b.log_mean == Approx(std::log(2.0)).margin(0.1));
  CHECK(b.log_mean == Approx(std::log(3.2)).margin(0.1));  // in the median
  CHECK(model.predict({2, 1.0, 1.0, 512.0}).log_mean < b.log_mean - 2.0);
  // As they may be far from the machine, they are uncertain, but so together.
  const double spread = 0.7 * 0.7;
  CHECK(b.log_variance > spread);
  CHECK(model.variance_after({0, 1.0, 1.0, 512.0}, {1, 1.0, 1.0, 512.0}) < a.log_variance - spread);
}

TEST_CASE("A model of nothing, or of impossible times, is an error") {
  const std::vector<MachineFeatures> types = {type_of("a", 1.0, 1.0, 1.0)};
  CHECK_THROWS_AS(MachineModel(types, {}), DataError);
  CHECK_THROWS_AS(MachineModel(types, {{{0, 1.0, 1.0, 8.0}, -1.0, 0.0}}), DataError);
  CHECK_THROWS_AS(MachineModel(types, {{{3, 1.0, 1.0, 8.0}, 1.0, 0.0}}), DataError);
}

}  // namespace
}  // namespace scavenger::perfmodel
