// The parts of consistency.cpp, and what they share. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/schema/violation.h"

namespace scavenger {

void check_data_config(const JobConfig& config, std::vector<Violation>& violations);
// Checks the model and the loss, and whether they fit the data.
void check_model_config(const JobConfig& config, std::vector<Violation>& violations);

bool has_images(const DataConfig& data);
// Returns {channels, height, width} if it is known before the data is read.
std::optional<std::vector<std::int64_t>> known_image_shape(const DataConfig& data);
inline constexpr const char* kImageRemedy =
    "use images (format idx, cifar10 or cifar100), or set data.sample_shape to [channels, height, "
    "width]";

inline void report(std::vector<Violation>& violations, const std::string& place, std::string what,
                   std::string remedy) {
  violations.push_back({JsonPointer(place), std::move(what), std::move(remedy)});
}

}  // namespace scavenger
