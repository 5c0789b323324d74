// The store of measurements that a configuration names.
#pragma once

#include <memory>

#include "perfmodel/store/model_store.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// Requires config.is_set(). Throws as the store's constructor does.
std::unique_ptr<perfmodel::ModelStore> open_model_store(const ModelStoreConfig& config);

}  // namespace scavenger::elastic
