// From what a store has of a model to a request for a plan.
#pragma once

#include "perfmodel/plan/plan.h"
#include "perfmodel/store/observations.h"

namespace scavenger::elastic {

// Puts in place all that the models of time and epochs are fitted to.
inline void set_observations(const perfmodel::Observations& observed,
                             perfmodel::PlanRequest& request) {
  request.times = observed.times;
  request.epochs = observed.epochs;
  request.noise = observed.noise;
  request.noise_scale = observed.noise_scale;
}

}  // namespace scavenger::elastic
