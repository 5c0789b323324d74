// Iterations to a metric at one batch size, predicted from a run at another and the noise measured
// in that run (Pollux's validation-B.csv; the learning rate followed AdaScale). The errors of each
// statistical model are printed, and kept in docs/results/predictions.md.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>

#include "perfmodel/epochs/statistical_model.h"
#include "test/unit/perfmodel/time/measured_tables.h"

namespace scavenger::perfmodel {
namespace {

// Trained at one batch size: where the metric was first reached, and the noise until then.
struct Run {
  double batch = 0.0;
  double iterations = 0.0;   // to the metric, interpolated between evaluations
  double noise_scale = 0.0;  // sum of traces over sum of |G|^2, weighted by progress
};

std::optional<Run> read_run(const std::filesystem::path& folder, double batch,
                            double smallest_batch, double metric) {
  const auto table =
      read_csv(folder / ("validation-" + std::to_string(static_cast<int>(batch)) + ".csv"));
  Run run{.batch = batch};
  double gradient = 0.0, trace = 0.0, last_metric = 0.0, last_iterations = 0.0, last_progress = 0.0;
  for (std::size_t i = 0; i < table.at("metric").size(); ++i) {
    const double now = std::stod(table.at("metric")[i]);
    const double iterations = std::stod(table.at("iteration")[i]);
    const double progress = std::stod(table.at("progress")[i]);
    // grad_var is tr / B0.
    trace += (progress - last_progress) * smallest_batch * std::stod(table.at("grad_var")[i]);
    gradient += (progress - last_progress) * std::stod(table.at("grad_sqr")[i]);
    if (now >= metric) {
      const double share = (metric - last_metric) / (now - last_metric);
      run.iterations = last_iterations + share * (iterations - last_iterations);
      run.noise_scale = trace / gradient;
      return run;
    }
    last_metric = now;
    last_iterations = iterations;
    last_progress = progress;
  }
  return std::nullopt;
}

struct Errors {
  double noise_scale = 0.0;  // e = e_min (1 + B / B_s)
  double scavenger = 0.0;    // e proportional to gamma_n at 16 workers, from the same B_s
  double constant = 0.0;     // the same number of epochs at every B
  int pairs = 0;
};

// Every ordered pair of runs: what the first says of the second, mean of |predicted / actual - 1|.
Errors errors_over_pairs(const std::vector<Run>& runs) {
  Errors errors;
  for (const Run& known : runs)
    for (const Run& wanted : runs) {
      if (known.batch == wanted.batch) continue;
      const double epochs = known.iterations * known.batch;  // in units of the data set
      const std::vector<EpochObservation> one{{known.batch, epochs}};
      std::vector<NoiseObservation> noise;
      for (const Run& run : {known, wanted})
        noise.push_back(
            {run.batch, (run.batch / 16 + known.noise_scale) / (run.batch + known.noise_scale)});
      const auto error = [&](double predicted_epochs) {
        return std::abs(predicted_epochs / wanted.batch / wanted.iterations - 1.0);
      };
      errors.noise_scale +=
          error(StatisticalModel::noise_scale(one, known.noise_scale).epochs(wanted.batch).value);
      errors.scavenger += error(StatisticalModel::scavenger(one, noise).epochs(wanted.batch).value);
      errors.constant += error(epochs);
      ++errors.pairs;
    }
  for (double* sum : {&errors.noise_scale, &errors.scavenger, &errors.constant})
    *sum /= errors.pairs;
  return errors;
}

// Leave one batch size out and fit both forms on the others' epochs.
std::vector<ScoredForm> held_out_scores(const std::vector<Run>& runs) {
  std::vector<EpochObservation> epochs;
  std::vector<NoiseObservation> noise;
  for (const Run& run : runs) {
    epochs.push_back({run.batch, run.iterations * run.batch});
    noise.push_back(
        {run.batch, (run.batch / 16 + run.noise_scale) / (run.batch + run.noise_scale)});
  }
  return choose_statistical_model(epochs, noise).scores;
}

}  // namespace

TEST_CASE("Noise measured at one batch size predicts iterations at another better than B alone") {
  const auto folder = shared_data_or_skip("pollux");
  if (folder.empty()) return;
  struct Target {
    const char* model;
    std::vector<double> batches;
    double metric;
  };
  const std::vector<Target> targets{{"cifar10", {128, 256, 512, 1024, 2048, 4096}, 0.80},
                                    {"cifar10", {128, 256, 512, 1024, 2048, 4096}, 0.90},
                                    // 87.5: the first evaluations are at 85 to 87 already.
                                    {"bert", {12, 24, 48, 96, 192, 384}, 87.5}};
  for (const Target& target : targets) {
    std::vector<Run> runs;
    for (const double batch : target.batches)
      if (const auto run =
              read_run(folder / target.model, batch, target.batches.front(), target.metric))
        runs.push_back(*run);
    REQUIRE(runs.size() >= 5);

    const Errors errors = errors_over_pairs(runs);

    std::string scales;
    for (const Run& run : runs) scales += " " + std::to_string(static_cast<int>(run.noise_scale));
    std::string fitted;
    for (const ScoredForm& score : held_out_scores(runs))
      fitted += " " + std::string(name_of(score.form)) + " " +
                std::to_string(std::lround(100.0 * score.held_out_error)) + " %";
    WARN(target.model << " to " << target.metric << ", " << errors.pairs << " pairs: noise_scale "
                      << 100 * errors.noise_scale << " %, scavenger " << 100 * errors.scavenger
                      << " %, constant epochs " << 100 * errors.constant << " %; B_s" << scales
                      << "; fitted on the other runs:" << fitted);
    CHECK(errors.noise_scale < errors.constant);
    CHECK(errors.noise_scale < errors.scavenger);
  }
}

}  // namespace scavenger::perfmodel
