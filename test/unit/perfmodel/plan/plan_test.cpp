#include "perfmodel/plan/plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

double seconds_of(double workers, double batch) {
  return 0.01 + 0.002 * batch / workers + 0.004 * (workers - 1.0);
}

// A job whose seconds per iteration and epochs follow simple laws, at K = 1, 2, 4, 8 and four B.
PlanRequest lawful_job() {
  PlanRequest request;
  for (const double batch : {32.0, 64.0, 128.0, 256.0}) {
    for (const double workers : {1.0, 2.0, 4.0, 8.0})
      request.times.push_back({{workers, batch}, seconds_of(workers, batch), 1e-5});
    request.epochs.push_back({batch, 4.0 * (1.0 + batch / 300.0)});
  }
  request.runs.push_back({{2.0, 64.0}, 5.0, 99.0});
  request.runs.push_back({{2.0, 64.0}, 5.2, 101.0});
  request.samples_per_epoch = 60000.0;
  request.price = {.worker_per_hour = 0.5, .fixed_per_hour = 0.0, .billing = kExactBilling};
  request.candidates = natural_candidates(request.times, request.epochs);
  return request;
}

const PlanRow& row_of(const Plan& plan, double workers, double batch) {
  return *std::find_if(plan.rows.begin(), plan.rows.end(), [&](const PlanRow& row) {
    return row.prediction.configuration == Configuration{workers, batch};
  });
}

}  // namespace

TEST_CASE("A plan covers every candidate and predicts those between the measured ones") {
  const Plan plan = make_plan(lawful_job());

  CHECK(plan.rows.size() == 8 * 4);
  const PlanRow& between = row_of(plan, 6, 128);
  CHECK_FALSE(between.is_measured);
  CHECK(between.prediction.iteration_seconds.value == Approx(seconds_of(6, 128)).epsilon(0.05));
  CHECK(between.prediction.epochs.value == Approx(4.0 * (1.0 + 128 / 300.0)).epsilon(0.01));
  CHECK(plan.iteration_seconds.points == 16);
  CHECK(plan.iteration_seconds.mean < 0.05);
  CHECK(plan.statistical_form == StatisticalForm::kNoiseScale);
  CHECK_FALSE(plan.relative);
}

TEST_CASE("A plan marks the choice, the knee and the Pareto set, and sets actual runs beside") {
  PlanRequest request = lawful_job();
  request.policy = Policy::kMinimumCost;
  const Plan plan = make_plan(request);

  REQUIRE(plan.decision.choice);
  const auto chosen = std::count_if(plan.rows.begin(), plan.rows.end(),
                                    [](const PlanRow& row) { return row.is_chosen; });
  CHECK(chosen == 1);
  CHECK(plan.rows[plan.decision.choice->index].is_chosen);
  CHECK(plan.rows[plan.decision.choice->index].is_pareto);
  for (const PlanRow& row : plan.rows)
    CHECK(row.prediction.cost.value >=
          plan.rows[plan.decision.choice->index].prediction.cost.value);
  CHECK(row_of(plan, 2, 64).actual_epochs == Approx(5.1));
  CHECK(row_of(plan, 2, 64).actual_seconds == Approx(100.0));
  CHECK(row_of(plan, 2, 64).actual_iteration_seconds == Approx(seconds_of(2, 64)));
  CHECK_FALSE(row_of(plan, 3, 64).actual_epochs);
}

TEST_CASE("Constraints of a plan that nothing satisfies name the nearest configuration") {
  PlanRequest request = lawful_job();
  request.constraints.max_seconds = 1.0;
  const Plan plan = make_plan(request);
  CHECK_FALSE(plan.decision.choice);
  REQUIRE(plan.decision.infeasible);
  CHECK(plan.decision.infeasible->binding == std::vector<std::string>{"max_seconds"});
}

TEST_CASE("Beyond what was measured a plan says so") {
  PlanRequest request = lawful_job();
  request.candidates = {{2, 64}, {16, 64}, {2, 4096}};
  const Plan plan = make_plan(request);
  CHECK_FALSE(plan.rows[0].prediction.extrapolated);
  CHECK(plan.rows[1].prediction.extrapolated);
  CHECK(plan.rows[2].prediction.extrapolated);
}

TEST_CASE("Without any run a plan is relative, and without noise there is none") {
  PlanRequest request = lawful_job();
  request.epochs.clear();
  CHECK_THROWS_AS(make_plan(request), DataError);
  request.noise_scale = 300.0;
  const Plan plan = make_plan(request);
  CHECK(plan.relative);
  CHECK(row_of(plan, 2, 256).prediction.epochs.value /
            row_of(plan, 2, 32).prediction.epochs.value ==
        Approx((300.0 + 256.0) / (300.0 + 32.0)));
}

TEST_CASE("Bad input of a plan is refused in words") {
  const auto refuses = [](const auto& spoil, const char* word) {
    PlanRequest request = lawful_job();
    spoil(request);
    CHECK_THROWS_WITH(make_plan(request), Catch::Contains(word));
  };
  refuses([](PlanRequest& r) { r.times.resize(2); }, "too few");
  refuses(
      [](PlanRequest& r) {
        std::erase_if(r.times, [](const auto& o) { return o.configuration.workers != 2.0; });
      },
      "all observations have K = 2");
  refuses([](PlanRequest& r) { r.times[0].seconds = std::nan(""); }, "seconds");
  refuses([](PlanRequest& r) { r.candidates.clear(); }, "no configuration");
  refuses([](PlanRequest& r) { r.samples_per_epoch = 0.0; }, "samples");
}

TEST_CASE("A universal plan is the geometric mean of its models, each relative to itself") {
  PlanRequest first = lawful_job(), second = lawful_job();
  for (TimeObservation& o : second.times) o.seconds *= 7.0;  // another job, only longer
  const std::vector<PlanRequest> both{first, second};

  const Plan plan = make_universal_plan(both);
  const Plan alone = make_plan(first);

  CHECK(plan.relative);
  const double base = alone.rows.front().prediction.seconds.value;
  for (std::size_t i = 0; i < plan.rows.size(); ++i)
    CHECK(plan.rows[i].prediction.seconds.value ==
          Approx(alone.rows[i].prediction.seconds.value / base).epsilon(0.02));
  CHECK_THROWS_AS(make_universal_plan({both.data(), 1}), DataError);
}

TEST_CASE("Shares of a job are billed exactly, as a search does, and no limit is held to them") {
  PlanRequest request = lawful_job();
  request.epochs.clear();
  request.runs.clear();
  request.noise_scale = 300.0;
  request.price.billing = Billing{};  // a first minute, whole seconds
  request.samples_per_epoch = 1000.0;
  request.constraints.max_seconds = 1e-3;
  request.constraints.max_cost = 1e-9;

  const Plan plan = make_plan(request);

  CHECK(plan.basis == PlanBasis::kReferenceEpoch);
  for (const PlanRow& row : plan.rows) {
    const JobPrediction& p = row.prediction;
    CHECK(p.cost.value ==
          Approx(p.seconds.value * p.configuration.workers * 0.5 / 3600.0).epsilon(1e-9));
  }
  REQUIRE(plan.decision.choice);
  CHECK(plan.limits_not_compared == std::vector<std::string>{"max_seconds", "max_cost"});
  PlanRequest exact = request;
  exact.price.billing = kExactBilling;
  exact.constraints = {};
  CHECK(make_plan(exact).decision.choice->index == plan.decision.choice->index);
}

TEST_CASE("Without epochs and noise the plan is of one epoch, if that was asked for") {
  PlanRequest request = lawful_job();
  request.epochs.clear();
  request.runs.clear();
  CHECK_THROWS_AS(make_plan(request), DataError);
  request.plans_without_noise = true;

  const Plan plan = make_plan(request);

  CHECK(plan.basis == PlanBasis::kEpoch);
  CHECK(plan.efficiency_workers == 1.0);
  const PlanRow& row = row_of(plan, 4, 128);
  const double seconds = seconds_of(4, 128);
  CHECK(row.prediction.seconds.value == Approx(60000.0 / 128.0 * seconds).epsilon(0.03));
  CHECK(row.samples_per_second.value == Approx(128.0 / seconds).epsilon(0.03));
  CHECK(row.efficiency.value == Approx(seconds_of(1, 32) / seconds).epsilon(0.03));
  for (const Estimate& estimate : {row.samples_per_second, row.efficiency, row.prediction.cost}) {
    CHECK(estimate.low < estimate.value);
    CHECK(estimate.value < estimate.high);
  }
  CHECK(row_of(plan, 1, 64).efficiency.value == 1.0);
}

TEST_CASE("A fit that misses its own points is known to, and one that does not is not blamed") {
  CHECK_FALSE(make_plan(lawful_job()).fit_errors.is_bad());
  PlanRequest request = lawful_job();
  request.times = {{{1, 32}, 0.125}, {{2, 32}, 0.013}, {{2, 64}, 0.013}, {{2, 128}, 0.4}};

  const FitErrors errors = make_plan(request).fit_errors;

  CAPTURE(errors.lowest, errors.highest);
  CHECK(errors.is_bad());
  CHECK(errors.lowest < 0.0);
  CHECK(errors.highest > 0.0);
}

}  // namespace scavenger::perfmodel
