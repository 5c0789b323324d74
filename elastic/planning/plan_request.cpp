#include "elastic/planning/plan_request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "elastic/plan/observed_request.h"

namespace scavenger::elastic {
namespace {

using perfmodel::Observations;
using perfmodel::PlanRequest;

void add_observations(const Observations& observed, const KnownModel& model, PlanRequest& request) {
  set_observations(observed, request);
  request.samples_per_epoch = static_cast<double>(model.record.signature.samples_per_epoch);
  for (const perfmodel::EpochRow& row : model.record.epochs)
    if (row.target == observed.target)
      request.runs.push_back({{row.workers, row.batch_size}, row.epochs, row.seconds});
}

// Without any price a worker-hour counts as a dollar, as in a search.
void add_prices(const PlanQuestion& question, const KnownModel& model, PlanRequest& request) {
  const double price = question.prices.per_worker.value_or(model.record.price_per_worker_hour);
  request.price.worker_per_hour = price > 0.0 ? price : 1.0;
  request.price.fixed_per_hour = question.prices.fixed;
  if (question.prices.bills_exactly) request.price.billing = perfmodel::kExactBilling;
  const bool machines_have_prices = std::ranges::any_of(
      question.machines,
      [](const NamedMachines& named) { return named.price_per_hour.has_value(); });
  request.price_is_assumed = price <= 0.0 && !machines_have_prices;
}

// The bound of b: what is given, or what the workers have measured. What has no room is computed in
// several passes, so a share that was trained with is within the bound in any case.
std::optional<double> largest_local_batch(const PlanQuestion& question, const KnownModel& model) {
  if (question.constraints.max_local_batch) return question.constraints.max_local_batch;
  if (!model.room_samples) return std::nullopt;
  auto most = static_cast<double>(*model.room_samples);
  for (const perfmodel::TimeRow& row : model.record.times)
    most = std::max(most, std::ceil(row.batch_size / row.workers));
  return most;
}

// Every K that takes all machines of the types that it takes; those that there are enough for.
void add_machine_counts(const perfmodel::MachinePool& machines, std::set<double>& workers) {
  std::erase_if(workers, [&](double k) { return k > machines.size(); });
  double count = 0.0;
  for (const perfmodel::MachineGroup& group : machines.groups)
    workers.insert(count += group.workers);
}

std::vector<perfmodel::Configuration> candidates_for(const PlanQuestion& question,
                                                     const PlanRequest& request) {
  std::set<double> workers, batches;
  for (const perfmodel::Configuration& c :
       perfmodel::natural_candidates(request.times, request.epochs)) {
    workers.insert(c.workers);
    batches.insert(c.global_batch);
  }
  if (request.machines.is_mixed()) add_machine_counts(request.machines, workers);
  if (!question.workers.empty()) workers = {question.workers.begin(), question.workers.end()};
  if (!question.batch_sizes.empty())
    batches = {question.batch_sizes.begin(), question.batch_sizes.end()};
  std::vector<perfmodel::Configuration> candidates;
  for (const double k : workers)
    for (const double b : batches)
      if (b >= k) candidates.push_back({k, b});
  return candidates;
}

std::string details_of(const PlanQuestion& question, const Observations& observed,
                       const PlanRequest& request) {
  std::vector<std::string> parts;
  if (!observed.machine.empty()) parts.push_back(fmt::format("machine {}", observed.machine));
  if (!observed.target.empty()) parts.push_back(fmt::format("target {}", observed.target));
  if (!request.price_is_assumed)
    parts.push_back(fmt::format("${} per worker and hour", request.price.worker_per_hour));
  if (request.constraints.max_local_batch && !question.constraints.max_local_batch)
    parts.push_back(
        fmt::format("memory for {:.0f} samples of a worker", *request.constraints.max_local_batch));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

DescribedRequest make_request(const PlanQuestion& question, const KnownModel& model) {
  const Observations observed = perfmodel::observations_of(model.record, question.filter);
  PlanRequest request;
  add_observations(observed, model, request);
  add_prices(question, model, request);
  if (question.noise_scale) request.noise_scale = question.noise_scale;
  if (question.samples_per_epoch) request.samples_per_epoch = *question.samples_per_epoch;
  request.policy = question.policy;
  request.constraints = question.constraints;
  request.constraints.max_local_batch = largest_local_batch(question, model);
  if (!question.machines.empty())
    request.machines = pool_of(question.machines, model.record, observed,
                               request.price.worker_per_hour, question.sharing);
  request.plans_without_noise = !question.needs_noise;
  request.candidates = candidates_for(question, request);
  return {request, details_of(question, observed, request)};
}

}  // namespace scavenger::elastic
