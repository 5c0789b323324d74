// The parts of job_config_json.cpp: they convert fields from and to JSON values.
#pragma once

#include <cstdint>

#include "runtime/config/data_config.h"
#include "runtime/config/model_config.h"
#include "runtime/config/optimizer_config.h"
#include "runtime/schema/json.h"

namespace scavenger {

DataConfig data_from(const Json& object);
Json data_to_json(const DataConfig& data);
ModelConfig model_from(const Json& object);
Json model_to_json(const ModelConfig& model);
LossConfig loss_from(const Json& object);
Json loss_to_json(const LossConfig& loss);
OptimizerConfig optimizer_from(const Json& object);
Json optimizer_to_json(const OptimizerConfig& optimizer);

inline constexpr const char* kAutomatic = "auto";  // 0 in JobConfig

// Leaves `field` unchanged if the document does not have `key`, as for keys of other formats and
// types, and for limits that are not set.
template <typename Field>
void read(const Json& object, const char* key, Field& field) {
  if (object.contains(key)) field = object.at(key).get<Field>();
}

inline void read_count_or_automatic(const Json& object, const char* key, std::uint32_t& field) {
  field = object.at(key) == kAutomatic ? 0 : object.at(key).get<std::uint32_t>();
}

inline Json count_or_automatic(std::uint32_t count) {
  return count == 0 ? Json(kAutomatic) : Json(count);
}

// Writes nothing for 0, which means no limit.
template <typename Number>
void write_unless_zero(Json& object, const char* key, Number value) {
  if (value != Number{}) object[key] = value;
}

}  // namespace scavenger
