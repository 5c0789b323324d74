#include "elastic/planning/made_plan.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

void refuse_unequal_machines(const PlanQuestion& question) {
  if (question.machines.empty()) return;
  throw InputError({.what = "this is not known of unequal machines",
                    .where = "--machines",
                    .remedy = "leave out --simulate, or --mode universal"});
}

MadePlan universal_plan(const StoreAddress& store, PlanQuestion question) {
  refuse_unequal_machines(question);
  question.needs_noise = true;
  MadePlan made;
  std::vector<perfmodel::PlanRequest> requests;
  for (const KnownModel& model : gather_all(store)) {
    requests.push_back(make_request(question, model).request);
    made.source.notes.push_back(fmt::format("counts: {}", model.title));
  }
  made.source.title = fmt::format("universal model of {}", store.name);
  made.plan = perfmodel::make_universal_plan(requests);
  return made;
}

}  // namespace

MadePlan plan_from(const PlanSources& sources, Knowledge knowledge, const PlanQuestion& question) {
  if (knowledge == Knowledge::kUniversal) return universal_plan(sources.store, question);
  const KnownModel model = gather_model(sources, knowledge);
  const DescribedRequest described = make_request(question, model);
  return {perfmodel::make_plan(described.request), {model.title, described.details, model.notes}};
}

std::string simulate_searches(const PlanSources& sources, const PlanQuestion& question,
                              const SimulationOptions& options) {
  refuse_unequal_machines(question);
  PlanSources own = sources;
  own.store = {};
  const KnownModel model = gather_model(own);
  std::vector<perfmodel::PlanRequest> others;
  if (!sources.store.name.empty())
    for (const KnownModel& other : gather_all(sources.store))
      if (other.record.signature != model.record.signature)
        others.push_back(make_request(question, other).request);
  return simulation_text(make_request(question, model).request, others, options);
}

}  // namespace scavenger::elastic
