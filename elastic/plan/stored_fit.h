// The models that a store's observations allow, kept beside them.
#pragma once

#include <string>

#include "perfmodel/store/model_store.h"

namespace scavenger::elastic {

// Fits anew what is stored of this model, and stores the plan that follows (docs/plan.md). Nothing
// if the observations are too few. Throws as the store does.
void refresh_fit(perfmodel::ModelStore& store, const std::string& id);

}  // namespace scavenger::elastic
