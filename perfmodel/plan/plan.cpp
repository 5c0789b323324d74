#include "perfmodel/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "perfmodel/fit/student.h"
#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

HeldOutError leave_one_out(std::span<const TimeObservation> times) {
  HeldOutError error;
  double sum = 0.0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::vector<TimeObservation> rest(times.begin(), times.end());
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    try {
      const TimeModel model(rest);
      const double predicted = model.seconds(times[i].configuration);
      const double off = std::abs(predicted / times[i].seconds - 1.0);
      sum += off;
      error.largest = std::max(error.largest, off);
      ++error.points;
    } catch (const DataError&) {  // without this one they show too little
    }
  }
  if (error.points > 0) error.mean = sum / static_cast<double>(error.points);
  return error;
}

std::vector<Candidate> candidates_of(const Plan& plan) {
  std::vector<Candidate> candidates;
  for (const PlanRow& row : plan.rows) {
    const JobPrediction& p = row.prediction;
    candidates.push_back({p.configuration, p.seconds.value, p.cost.value,
                          p.iteration_seconds.standard_error / p.iteration_seconds.value});
  }
  return candidates;
}

// The choice, the Pareto set and the knee among what the constraints allow.
void decide(const Constraints& constraints, Plan& plan) {
  const std::vector<Candidate> candidates = candidates_of(plan);
  plan.decision = choose(candidates, plan.policy, constraints);
  if (!plan.decision.choice) return;
  plan.rows[plan.decision.choice->index].is_chosen = true;
  const Decision knee = choose(candidates, Policy::kKnee, constraints);
  if (knee.choice) plan.rows[knee.choice->index].is_knee = true;
  std::vector<Candidate> allowed;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (choose({&candidates[i], 1}, plan.policy, constraints).choice) {
      allowed.push_back(candidates[i]);
      places.push_back(i);
    }
  for (const std::size_t i : pareto_set(allowed)) plan.rows[places[i]].is_pareto = true;
}

void add_actuals(const PlanRequest& request, PlanRow& row) {
  const Configuration& configuration = row.prediction.configuration;
  const bool is_elsewhere = request.machines.is_mixed() && !request.measured_on_machines;
  for (const TimeObservation& o : request.times)
    if (o.configuration == configuration && !is_elsewhere) row.actual_iteration_seconds = o.seconds;
  row.is_measured = row.actual_iteration_seconds.has_value();
  double epochs = 0.0, seconds = 0.0, runs = 0.0, timed = 0.0;
  for (const ActualRun& run : request.runs) {
    if (run.configuration != configuration) continue;
    ++runs;
    epochs += run.epochs;
    seconds += run.seconds;
    timed += run.seconds > 0.0 ? 1.0 : 0.0;
  }
  if (runs > 0.0) row.actual_epochs = epochs / runs;
  if (timed > 0.0) row.actual_seconds = seconds / timed;
}

void scale(double factor, Estimate& estimate) {
  for (double* const part :
       {&estimate.value, &estimate.standard_error, &estimate.low, &estimate.high})
    *part *= factor;
}

// From alike machines to those that the workers get.
void move_to_machines(const PlanRequest& request, const TimeModel& time, ClusterPrice price,
                      PlanRow& row) {
  JobPrediction& job = row.prediction;
  const Configuration& at = job.configuration;
  row.machines = request.machines.first(at.workers);
  MixedPrediction mixed =
      predict_mixed(time, row.machines, at.global_batch, request.machines.sharing);
  row.shares = std::move(mixed.shares);
  const double slower = mixed.seconds / job.iteration_seconds.value;
  scale(slower, job.iteration_seconds);
  scale(slower, job.seconds);
  price.worker_per_hour = mixed.price_per_hour / at.workers;
  job.cost = cluster_cost(job.seconds, at.workers, price);
}

void require_candidates(const PlanRequest& request) {
  if (request.candidates.empty())
    throw DataError({.what = "there is no configuration to choose from",
                     .where = "plan",
                     .remedy = "name some: --workers 1-8 --batch-sizes 64,128,256"});
  if (!(request.samples_per_epoch > 0.0))
    throw DataError({.what = "the number of samples of an epoch is not known",
                     .where = "plan",
                     .remedy = "give it: --samples 60000"});
}

constexpr Estimate kOneEpoch{1.0, 0.0, 1.0, 1.0};

double fewest_workers(std::span<const TimeObservation> times) {
  double fewest = times.front().configuration.workers;
  for (const TimeObservation& o : times) fewest = std::min(fewest, o.configuration.workers);
  return fewest;
}

// Chooses the statistical model, and says in the plan what it is and what it is relative to.
StatisticalModel adopt_statistics(const PlanRequest& request, Plan& plan) {
  StatisticalChoice choice =
      choose_statistical_model(request.epochs, request.noise, request.noise_scale);
  plan.relative = choice.model.relative();
  if (plan.relative) plan.basis = PlanBasis::kReferenceEpoch;
  plan.reference_batch = choice.model.reference_batch();
  plan.statistical_form = choice.model.form();
  plan.statistical_scores = std::move(choice.scores);
  const auto coefficients = choice.model.coefficients();
  plan.statistical_coefficients.assign(coefficients.begin(), coefficients.end());
  return choice.model;
}

FitErrors fit_errors_of(const TimeModel& time, std::span<const TimeObservation> observations) {
  FitErrors errors;
  for (const TimeObservation& o : observations) {
    const double off = time.seconds(o.configuration) / o.seconds - 1.0;
    errors.lowest = std::min(errors.lowest, off);
    errors.highest = std::max(errors.highest, off);
  }
  return errors;
}

// Limits on the whole job say nothing about a share of it.
void set_limits_aside(Constraints& constraints, Plan& plan) {
  if (constraints.max_seconds) plan.limits_not_compared.emplace_back("max_seconds");
  if (constraints.max_cost) plan.limits_not_compared.emplace_back("max_cost");
  constraints.max_seconds.reset();
  constraints.max_cost.reset();
}

// How fast a configuration is, however many epochs there are to train.
void add_speed(const TimeModel& time, double fewest_workers, PlanRow& row) {
  const Configuration& at = row.prediction.configuration;
  const Estimate& seconds = row.prediction.iteration_seconds;
  row.samples_per_second = {
      at.global_batch / seconds.value,
      at.global_batch * seconds.standard_error / (seconds.value * seconds.value),
      at.global_batch / seconds.high, at.global_batch / seconds.low};
  const Configuration base{fewest_workers, fewest_workers * at.local_batch(), 1.0};
  row.efficiency = time.ratio(base, at);
  // Unequal machines are slower or faster than those of the model.
  const double faster = time.seconds(at) / seconds.value;
  scale(faster, row.efficiency);
}

}  // namespace

bool FitErrors::is_bad() const {
  constexpr double kBad = 0.1;  // beyond what iterations of one configuration scatter by
  return lowest < -kBad || highest > kBad;
}

Plan make_plan(const PlanRequest& request) {
  require_candidates(request);
  const std::vector<TimeObservation> times =
      request.machines.is_mixed() && request.measured_on_machines
          ? with_slowdowns(request.times, request.machines)
          : request.times;
  const TimeModel time(times);
  Plan plan;
  plan.policy = request.policy;
  plan.price_is_assumed = request.price_is_assumed;
  std::optional<StatisticalModel> statistics;
  if (!request.plans_without_noise ||
      tells_epochs(request.epochs, request.noise, request.noise_scale))
    statistics = adopt_statistics(request, plan);
  else
    plan.basis = PlanBasis::kEpoch;
  Constraints constraints = request.constraints;
  ClusterPrice price = request.price;
  if (plan.basis != PlanBasis::kJob) {
    set_limits_aside(constraints, plan);
    price.billing = kExactBilling;
  }
  plan.fit_errors = fit_errors_of(time, times);
  plan.efficiency_workers = fewest_workers(times);
  plan.time_form = describe(time.best().form());
  plan.time_error_scale = time.best().error_scale();
  if (request.holds_out) plan.iteration_seconds = leave_one_out(times);
  plan.time_points = request.times.size();
  plan.epoch_points = request.epochs.size();
  plan.noise_points = request.noise.size();
  for (const Configuration& configuration : request.candidates) {
    PlanRow row;
    row.prediction =
        statistics
            ? predict_job(configuration, time, *statistics, request.samples_per_epoch, price)
            : predict_epochs(configuration, time, kOneEpoch, request.samples_per_epoch, price);
    if (request.machines.is_mixed()) move_to_machines(request, time, price, row);
    add_speed(time, plan.efficiency_workers, row);
    add_actuals(request, row);
    plan.rows.push_back(std::move(row));
  }
  decide(constraints, plan);
  return plan;
}

namespace {

// The mean of ln(values), and the interval that their spread gives it.
Estimate geometric_mean(const std::vector<double>& logs) {
  const auto count = static_cast<double>(logs.size());
  double mean = 0.0, squares = 0.0;
  for (const double value : logs) mean += value / count;
  for (const double value : logs) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / (count - 1.0));
  const double reach =
      student_quantile(0.95, count - 1.0) * deviation * std::sqrt(1.0 + 1.0 / count);
  const double value = std::exp(mean);
  return {value, value * deviation / std::sqrt(count), std::exp(mean - reach),
          std::exp(mean + reach)};
}

}  // namespace

Plan make_universal_plan(std::span<const PlanRequest> requests) {
  if (requests.size() < 2)
    throw DataError({.what = "a universal model is the mean of two stored models at least",
                     .where = "plan",
                     .remedy = "store another model's measurements, or use --mode none"});
  std::vector<Plan> plans;
  for (PlanRequest request : requests) {
    request.candidates = requests.front().candidates;
    request.price = requests.front().price;
    request.price.billing = kExactBilling;
    plans.push_back(make_plan(request));
  }
  Plan mean = plans.front();
  mean.policy = requests.front().policy;
  mean.relative = true;
  mean.basis = PlanBasis::kFirstRow;
  mean.limits_not_compared.clear();
  Constraints constraints = requests.front().constraints;
  set_limits_aside(constraints, mean);
  mean.fit_errors = {};
  mean.reference_batch = mean.rows.front().prediction.configuration.global_batch;
  mean.time_form = "mean of " + std::to_string(plans.size()) + " models";
  mean.iteration_seconds = {};
  mean.statistical_scores.clear();
  mean.statistical_coefficients.clear();
  const auto average = [&](std::size_t row, auto value) {
    std::vector<double> logs;
    for (const Plan& plan : plans)
      logs.push_back(
          std::log(value(plan.rows[row].prediction) / value(plan.rows.front().prediction)));
    return geometric_mean(logs);
  };
  for (std::size_t i = 0; i < mean.rows.size(); ++i) {
    PlanRow& row = mean.rows[i];
    JobPrediction& p = row.prediction;
    p.epochs = average(i, [](const JobPrediction& job) { return job.epochs.value; });
    p.iteration_seconds =
        average(i, [](const JobPrediction& job) { return job.iteration_seconds.value; });
    p.seconds = average(i, [](const JobPrediction& job) { return job.seconds.value; });
    p.iterations = average(i, [](const JobPrediction& job) { return job.iterations; }).value;
    const double machines =
        p.configuration.workers / mean.rows.front().prediction.configuration.workers;
    p.cost = {p.seconds.value * machines, p.seconds.standard_error * machines,
              p.seconds.low * machines, p.seconds.high * machines};
    row.is_measured = row.is_pareto = row.is_knee = row.is_chosen = false;
    row.actual_iteration_seconds = row.actual_epochs = row.actual_seconds = std::nullopt;
    for (const Plan& plan : plans) p.extrapolated |= plan.rows[i].prediction.extrapolated;
  }
  mean.decision = {};
  decide(constraints, mean);
  return mean;
}

std::vector<Configuration> natural_candidates(std::span<const TimeObservation> times,
                                              std::span<const EpochObservation> epochs) {
  std::set<double> workers, batches;
  for (const TimeObservation& o : times) {
    workers.insert(o.configuration.workers);
    batches.insert(o.configuration.global_batch);
  }
  for (const EpochObservation& o : epochs) batches.insert(o.global_batch);
  if (workers.empty() || batches.empty()) return {};
  constexpr double kEveryUpTo = 16.0;
  const double most = *workers.rbegin();
  for (double k = *workers.begin(); k < most; k = k < kEveryUpTo ? k + 1.0 : 2.0 * k)
    workers.insert(std::floor(k));
  for (double b = 1.0; b < *batches.rbegin(); b *= 2.0)
    if (b > *batches.begin()) batches.insert(b);
  std::vector<Configuration> candidates;
  for (const double k : workers)
    for (const double b : batches)
      if (b >= k) candidates.push_back({k, b});
  return candidates;
}

}  // namespace scavenger::perfmodel
