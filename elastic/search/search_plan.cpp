#include "elastic/search/search_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "elastic/plan/observed_request.h"
#include "elastic/plan/run_record.h"
#include "perfmodel/store/observations.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

// B_s where the gradient is nothing but noise: batch size costs no epochs then.
constexpr double kAllNoise = 1e12;

std::optional<double> noise_scale_of(const RunNumbers& numbers) {
  const auto noise = numbers.noise.numbers();
  if (!noise || std::isnan(noise->estimate.noise_scale.value)) return std::nullopt;
  return std::clamp(noise->estimate.noise_scale.value, 1e-6, kAllNoise);
}

// Epochs of earlier runs count where they led to this job's target.
void add_known_epochs(const RunNumbers& numbers, const perfmodel::ModelRecord& record,
                      perfmodel::PlanRequest& request) {
  if (!numbers.start.target) return;
  for (const perfmodel::EpochRow& row : record.epochs)
    if (row.target == target_name(*numbers.start.target))
      request.epochs.push_back({row.batch_size, row.epochs});
}

perfmodel::PlanRequest request_from(const perfmodel::PlanRequest& base,
                                    const perfmodel::ModelRecord& record) {
  perfmodel::PlanRequest request = base;
  set_observations(perfmodel::observations_of(record), request);
  return request;
}

std::string title_of(const perfmodel::ModelRecord& record) {
  return fmt::format("the stored model {} ({})", record.name, record.signature.id());
}

[[noreturn]] void refuse_store(std::string what) {
  throw DataError({.what = std::move(what),
                   .where = "search",
                   .remedy = "let a job of this model search: what it measures is stored"});
}

}  // namespace

perfmodel::PlanRequest make_search_request(const JobConfig& config,
                                           const perfmodel::MachinePool& machines,
                                           const RunNumbers& numbers,
                                           std::span<const perfmodel::Configuration> candidates) {
  perfmodel::PlanRequest request;
  request.candidates.assign(candidates.begin(), candidates.end());
  request.samples_per_epoch = static_cast<double>(numbers.start.samples_per_epoch);
  const double price = config.cluster.price_per_worker_hour;
  request.price.worker_per_hour = price > 0.0 ? price : 1.0;
  request.price.billing = perfmodel::kExactBilling;  // machines are kept from one to the next
  request.machines = machines;
  request.measured_on_machines = true;
  request.policy = config.search.policy;
  request.holds_out = false;  // nobody is to wait for it
  if (config.stop.max_seconds > 0.0) request.constraints.max_seconds = config.stop.max_seconds;
  if (config.stop.max_cost > 0.0) request.constraints.max_cost = config.stop.max_cost;
  return request;
}

perfmodel::Plan plan_from_measurements(const perfmodel::PlanRequest& base,
                                       std::span<const MeasuredConfiguration> measured,
                                       const RunNumbers& numbers,
                                       std::span<const perfmodel::ModelRecord> stored) {
  perfmodel::PlanRequest request = base;
  for (const MeasuredConfiguration& one : measured) request.times.push_back(one.seconds);
  request.noise_scale = noise_scale_of(numbers);
  if (!request.noise_scale)
    throw DataError({.what = "the gradient noise is not known",
                     .where = "search",
                     .remedy = "train longer before choosing: search.cold_start_iterations"});
  for (const perfmodel::ModelRecord& record : stored)
    if (numbers.model && record.signature.architecture == numbers.model->fact.architecture)
      add_known_epochs(numbers, record, request);
  return perfmodel::make_plan(request);
}

StoredPlan plan_from_most_similar(const perfmodel::PlanRequest& request,
                                  const perfmodel::ModelSignature& signature,
                                  std::span<const perfmodel::ModelRecord> stored) {
  std::optional<StoredPlan> best;
  std::string problem = stored.empty() ? "it has no models" : "it has no model like this one";
  double most = 0.0, most_refused = 0.0;
  for (const perfmodel::ModelRecord& record : stored) {
    const double alike = perfmodel::similarity(record.signature, signature);
    if (alike <= most) continue;
    try {
      best = StoredPlan{perfmodel::make_plan(request_from(request, record)),
                        fmt::format("{}, similarity {:.2f}", title_of(record), alike)};
      most = alike;
    } catch (const DataError& error) {
      if (alike <= most_refused) continue;
      most_refused = alike;
      problem = fmt::format("{}: {}", title_of(record), error.problem().what);
    }
  }
  if (!best) refuse_store(std::move(problem));
  return *std::move(best);
}

StoredPlan plan_from_all(const perfmodel::PlanRequest& request,
                         std::span<const perfmodel::ModelRecord> stored) {
  std::vector<perfmodel::PlanRequest> known;
  std::string problem;  // of the last model that says too little
  for (const perfmodel::ModelRecord& record : stored) {
    try {
      perfmodel::PlanRequest one = request_from(request, record);
      perfmodel::make_plan(one);
      known.push_back(std::move(one));
    } catch (const DataError& error) {
      problem = fmt::format("; {}: {}", title_of(record), error.problem().what);
    }
  }
  if (known.size() < 2)
    refuse_store(fmt::format("{} of its {} models say enough, and two are needed{}", known.size(),
                             stored.size(), problem));
  return {perfmodel::make_universal_plan(known),
          fmt::format("the mean of {} stored models", known.size())};
}

fact::Prediction make_prediction(const perfmodel::Plan& plan, const RunNumbers& numbers) {
  fact::Prediction prediction;
  prediction.iteration = numbers.iterations;
  prediction.policy = plan.policy;
  prediction.relative = plan.relative;
  prediction.reference_batch = plan.reference_batch;
  prediction.time_form = plan.time_form;
  prediction.statistical_form = std::string(perfmodel::name_of(plan.statistical_form));
  prediction.noise_scale =
      noise_scale_of(numbers).value_or(std::numeric_limits<double>::quiet_NaN());
  if (const auto noise = numbers.noise.numbers()) prediction.noise_phase = noise->phase;
  for (const perfmodel::PlanRow& row : plan.rows) {
    const perfmodel::JobPrediction& job = row.prediction;
    prediction.candidates.push_back(
        {.workers = static_cast<std::uint32_t>(job.configuration.workers),
         .batch_size = static_cast<std::uint32_t>(job.configuration.global_batch),
         .iteration_seconds = job.iteration_seconds.value,
         .iteration_seconds_low = job.iteration_seconds.low,
         .iteration_seconds_high = job.iteration_seconds.high,
         .epochs = job.epochs.value,
         .seconds = job.seconds.value,
         .seconds_low = job.seconds.low,
         .seconds_high = job.seconds.high,
         .cost = job.cost.value,
         .measured = row.is_measured,
         .extrapolated = job.extrapolated,
         .pareto = row.is_pareto,
         .knee = row.is_knee});
  }
  const auto& decision = plan.decision;
  const std::size_t index = decision.choice ? decision.choice->index : decision.infeasible->nearest;
  prediction.workers = prediction.candidates.at(index).workers;
  prediction.batch_size = prediction.candidates.at(index).batch_size;
  prediction.reason = decision.choice ? decision.choice->reason : decision.infeasible->message;
  return prediction;
}

}  // namespace scavenger::elastic
