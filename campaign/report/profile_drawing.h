// Draws a profile as SVG. Pure.
#pragma once

#include <string>

#include "campaign/result/result_files.h"

namespace scavenger::campaign {

inline constexpr const char* kCurveColours[] = {"#1f6fb4", "#c8501e", "#3c8a3c", "#8250a8",
                                                "#d4a020", "#159a9a", "#b03070", "#777777"};

// Lines of all values over x, with bands of one standard error if there is one. Numbers that are
// not finite are left out.
std::string profile_svg(const Profile& profile);

}  // namespace scavenger::campaign
