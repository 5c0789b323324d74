// What a store of measurements knows, as tables for people.
#pragma once

#include <span>
#include <string>

#include "perfmodel/store/model_record.h"
#include "perfmodel/store/model_store.h"

namespace scavenger::elastic {

std::string models_table(std::span<const perfmodel::ModelSummary> models);
std::string model_text(const perfmodel::ModelRecord& record);

}  // namespace scavenger::elastic
