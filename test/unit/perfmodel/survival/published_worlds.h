// Worlds for studies of policies: the published lifetimes, by zone and by type, with the wall of
// 24 h and without.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "perfmodel/survival/survival.h"
#include "test/unit/perfmodel/survival/durations.h"

namespace scavenger::perfmodel {

inline constexpr double kWall = 24 * kHour;

struct Slice {
  std::string name, zone, type;
  double least_gain;  // of failures at uniform ages, beside memoryless placement
};
inline const Slice kSlices[] = {{"all", "", "", 2.0},
                                {"us-central1-c", "us-central1-c", "", 2.0},
                                {"us-west1-a", "us-west1-a", "", 1.4},
                                {"n1-highcpu-32", "", "n1-highcpu-32", 1.4},
                                {"n1-highcpu-16", "", "n1-highcpu-16", 1.4},
                                {"n1-highcpu-4", "", "n1-highcpu-4", 1.4}};

// What machines do, and what the policies believe of them.
struct World {
  std::shared_ptr<const Survival> truth;  // Kaplan and Meier's curve
  std::shared_ptr<const Survival> model;  // an early share and a constant rate, fitted
};

// Nothing, with a warning, if the lifetimes are not here. Without a wall, lives of more than 23.5 h
// are censored there, since all later losses are those at the wall.
std::optional<World> world_of(const Slice& slice, bool has_wall);

// SCAVENGER_SURVIVAL_SEEDS, or 0.
int study_seeds();
// A line of a table, if this is a study.
void print(const std::string& line);

}  // namespace scavenger::perfmodel
