#include "perfmodel/time/time_model.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "perfmodel/search/adaptive_search.h"
#include "runtime/base/error.h"
#include "runtime/base/random.h"

namespace scavenger::perfmodel {
namespace {

// Measurements of a known truth, with relative scatter.
std::vector<TimeObservation> measure(const TimeForm& form, const TimeParameters& truth,
                                     std::span<const Configuration> configurations, double scatter,
                                     RandomStream& stream) {
  std::vector<TimeObservation> observations;
  for (const Configuration& c : configurations) {
    const double seconds = evaluate(form, truth, c).seconds;
    observations.push_back({c, seconds * std::exp(scatter * stream.normal()), scatter * seconds});
  }
  return observations;
}

std::vector<Configuration> grid(const std::vector<double>& workers,
                                const std::vector<double>& local_batches) {
  std::vector<Configuration> configurations;
  for (const double k : workers)
    for (const double b : local_batches) configurations.push_back({k, k * b});
  return configurations;
}

TimeParameters parameters(double base, double per_sample, double sync_base, double sync_slope,
                          double overlap = 0.0, double floor = 0.0) {
  TimeParameters p{};
  p[kComputeBase] = base;
  p[kComputePerSample] = per_sample;
  p[kSyncBase] = sync_base;
  p[kSyncSlope] = sync_slope;
  p[kOverlapShare] = overlap;
  p[kComputeFloor] = floor;
  return p;
}

}  // namespace

TEST_CASE("A form's gradient is that of its formula") {
  TimeParameters p = parameters(0.02, 0.001, 0.03, 0.01, 0.6, 0.05);
  p[kStraggling] = 0.02;
  p[kSyncPerSample] = 1e-5;
  for (const SyncShape shape : {SyncShape::kShard, SyncShape::kSpread, SyncShape::kTree})
    for (const Configuration c :
         {Configuration{1, 32}, Configuration{4, 64}, Configuration{16, 4096}}) {
      const TimeForm form{shape, true, true, true};
      const TimeParts parts = evaluate(form, p, c);
      for (std::size_t j = 0; j < kTimeParameters; ++j) {
        const double step = 1e-6 * p[j];
        TimeParameters more = p, less = p;
        more[j] += step;
        less[j] -= step;
        const double slope =
            (evaluate(form, more, c).seconds - evaluate(form, less, c).seconds) / (2 * step);
        CAPTURE(j, c.workers);
        CHECK(parts.gradient[j] == Approx(slope).epsilon(1e-5).margin(1e-8));
      }
    }
}

TEST_CASE(
    "Without overlap tau is compute plus synchronisation, and one worker does not synchronise") {
  const TimeParameters p = parameters(0.1, 0.01, 0.2, 0.03);
  CHECK(evaluate({}, p, {4, 32}).seconds == Approx(0.1 + 0.08 + 0.2 + 0.09));
  CHECK(evaluate({SyncShape::kSpread}, p, {4, 32}).seconds == Approx(0.18 + 0.2 + 0.0225));
  CHECK(evaluate({}, p, {1, 32}).seconds == Approx(0.42));
}

TEST_CASE("A table with hardly any scatter is predicted where it was not measured") {
  RandomStream stream(1, "time model");
  for (const SyncShape shape : {SyncShape::kShard, SyncShape::kSpread, SyncShape::kTree})
    for (const double overlap : {0.0, 0.6}) {
      const TimeForm truth{shape, overlap > 0.0};
      const TimeParameters p = parameters(0.02, 0.002, 0.03, 0.02, overlap);
      const auto points = grid({1, 2, 8, 16}, {16, 64, 256});
      const TimeModel model(measure(truth, p, points, 0.001, stream));

      for (const Configuration& c : grid({3, 4, 6, 12}, {32, 128})) {
        CAPTURE(describe(truth), describe(model.best().form()), c.workers, c.global_batch);
        CHECK(model.predict(c).seconds.value ==
              Approx(evaluate(truth, p, c).seconds).epsilon(0.03));
      }
    }
}

TEST_CASE("The fit tells the shapes of synchronisation apart where the points show them") {
  RandomStream stream(2, "time model");
  for (const SyncShape shape : {SyncShape::kShard, SyncShape::kSpread, SyncShape::kTree}) {
    const TimeParameters p =
        parameters(0.01, 0.0005, 0.0, shape == SyncShape::kSpread ? 0.4 : 0.05);
    const TimeModel model(
        measure({shape}, p, grid({1, 2, 4, 8, 16, 32}, {8, 32, 128}), 0.005, stream));
    CAPTURE(describe(model.best().form()));
    CHECK(model.best().form().shape == shape);
  }
}

TEST_CASE("A floor for small batches is used where the points show one, and only there") {
  RandomStream stream(3, "time model");
  const auto points = grid({1, 2, 4}, {1, 2, 4, 8, 16, 32, 64, 128});
  const TimeForm with_floor{SyncShape::kShard, false, true};

  const TimeModel floored(
      measure(with_floor, parameters(0.0, 0.002, 0.01, 0.005, 0, 0.05), points, 0.005, stream));
  const TimeModel plain(measure({}, parameters(0.02, 0.002, 0.01, 0.005), points, 0.005, stream));

  CHECK(floored.best().form().floor);
  CHECK_FALSE(plain.best().form().floor);
  CHECK(floored.predict({1, 3}).seconds.value == Approx(0.05).epsilon(0.02));
}

TEST_CASE("Four corners suffice, and forms they cannot tell apart widen the interval") {
  RandomStream stream(4, "time model");
  const TimeParameters p = parameters(0.1, 0.02, 0.05, 0.02);
  const auto corners = grid({1, 16}, {16, 128});

  const TimeModel model(measure({}, p, corners, 0.01, stream));
  const TimePrediction corner = model.predict(corners[3]);
  const TimePrediction between = model.predict({4, 256});

  CHECK(model.best().form() == TimeForm{});  // the paper's own, where nothing speaks against it
  CHECK(between.seconds.standard_error / between.seconds.value >
        2 * corner.seconds.standard_error / corner.seconds.value);
}

TEST_CASE("Prediction intervals cover what is measured later about as often as they claim") {
  RandomStream stream(5, "time model");
  const TimeForm truth{SyncShape::kTree, true};
  const TimeParameters p = parameters(0.02, 0.002, 0.03, 0.03, 0.6);
  const auto points = grid({1, 2, 4, 16}, {16, 64, 256});
  const auto others = grid({3, 6, 8, 12}, {32, 128});
  int covered = 0, total = 0;
  for (int trial = 0; trial < 25; ++trial) {
    const TimeModel model(measure(truth, p, points, 0.03, stream));
    for (const TimeObservation& later : measure(truth, p, others, 0.03, stream)) {
      const Estimate seconds = model.predict(later.configuration).seconds;
      covered += seconds.low <= later.seconds && later.seconds <= seconds.high ? 1 : 0;
      ++total;
    }
  }
  CAPTURE(covered, total);
  CHECK(covered >= 0.90 * total);
}

TEST_CASE("Leaving the range of what was measured is flagged, and widens the interval") {
  RandomStream stream(6, "time model");
  const TimeModel model(
      measure({}, parameters(0.1, 0.02, 0.05, 0.02), grid({2, 8}, {16, 128}), 0.01, stream));
  CHECK_FALSE(model.predict({4, 256}).extrapolated);
  CHECK_FALSE(model.predict({8, 1024}).extrapolated);
  CHECK(model.predict({16, 1024}).extrapolated);
  CHECK(model.predict({1, 64}).extrapolated);
  CHECK(model.predict({4, 32}).extrapolated);
  const auto relative_error = [&](double workers) {
    const Estimate seconds = model.predict({workers, 32 * workers}).seconds;
    return seconds.standard_error / seconds.value;
  };
  CHECK(relative_error(64) > 2 * relative_error(8));
}

TEST_CASE("Bad observations get one clear answer") {
  const auto problem = [](std::vector<TimeObservation> observations) -> std::string {
    try {
      TimeModel model(observations);
    } catch (const DataError& error) {
      return error.problem().what + " / " + error.problem().where + " / " + error.problem().remedy;
    }
    return "accepted";
  };
  const TimeObservation a{{1, 32}, 0.1}, b{{2, 128}, 0.2}, c{{4, 128}, 0.3};
  using Catch::Contains;
  CHECK(problem({a, b, c}) == "accepted");
  CHECK_THAT(problem({a, b}), Contains("too few"));
  CHECK_THAT(problem({a, {{1, 64}, 0.1}, {{1, 128}, 0.2}}),
             Contains("all observations have K = 1"));
  CHECK_THAT(problem({a, {{2, 64}, 0.1}, {{4, 128}, 0.2}}), Contains("32 samples per worker"));
  CHECK_THAT(problem({a, b, {{4, 128}, -0.3}}), Contains("observation 3") && Contains("-0.3"));
  CHECK_THAT(problem({a, b, {{4, 128}, std::nan("")}}), Contains("nan"));
  CHECK_THAT(problem({a, b, {{64, 32}, 0.3}}), Contains("B = 32 is smaller than K = 64"));
  CHECK_THAT(problem({a, b, {{4, 128}, 0.3, 5.0}}), Contains("larger than the time itself"));
}

TEST_CASE("Corners come cheapest first, each once") {
  const auto points = grid({1, 2, 4}, {8, 16, 32});
  CHECK(corner_candidates(points) == std::vector<std::size_t>{0, 2, 6, 8});
  CHECK(corner_candidates(grid({2}, {8})) == std::vector<std::size_t>{0});
}

TEST_CASE("The next measurement is one that was not made, where least is known") {
  RandomStream stream(7, "time model");
  const auto points = grid({1, 2, 4, 8, 16, 32}, {16, 64});
  std::vector<bool> measured(points.size());
  std::vector<Configuration> known;
  for (const std::size_t i : {0, 1, 2, 3, 4, 5}) {  // K = 1, 2, 4
    measured[i] = true;
    known.push_back(points[i]);
  }
  const TimeModel model(measure({}, parameters(0.1, 0.002, 0.05, 0.02), known, 0.01, stream));

  const auto next = next_candidate(model, points, measured);

  REQUIRE(next);
  CHECK(points[*next].workers >= 16);
  CHECK_FALSE(next_candidate(model, points, std::vector<bool>(points.size(), true)));
}

TEST_CASE("Importance draws the measurement to where the decision is") {
  RandomStream stream(8, "time model");
  const auto points = grid({1, 4, 16, 64}, {16, 64});
  std::vector<bool> measured(points.size());
  measured[0] = measured[1] = measured[6] = measured[7] = true;
  const std::vector<Configuration> known{points[0], points[1], points[6], points[7]};
  const TimeModel model(measure({}, parameters(0.1, 0.002, 0.05, 0.02), known, 0.01, stream));
  std::vector<double> only_four(points.size(), 0.0), only_sixteen(points.size(), 0.0);
  only_four[2] = only_four[3] = 1.0;
  only_sixteen[4] = only_sixteen[5] = 1.0;

  CHECK(points[*next_candidate(model, points, measured, only_four)].workers == 4);
  CHECK(points[*next_candidate(model, points, measured, only_sixteen)].workers == 16);
}

TEST_CASE("Candidates that are surely worse do not matter to a decision") {
  const std::vector<Estimate> objectives{{10, 1, 0, 0}, {11, 1, 0, 0}, {30, 1, 0, 0}};
  const auto importance = decision_importance(objectives);
  CHECK(importance[0] == 1.0);
  CHECK(importance[1] == Approx(std::exp(-0.25)));
  CHECK(importance[2] < 1e-6);
}

}  // namespace scavenger::perfmodel
