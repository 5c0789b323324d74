#include "md/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace scavenger::md {
namespace {

Average between(const Average& a, const Average& b, double share) {
  return {.mean = a.mean + share * (b.mean - a.mean),
          .error = a.error + share * (b.error - a.error)};
}

// The profile has no density beyond its outermost points.
ProfilePoint interpolated(const std::vector<ProfilePoint>& points, double z) {
  const auto above = std::lower_bound(points.begin(), points.end(), z,
                                      [](const ProfilePoint& p, double at) { return p.z < at; });
  if (above == points.end()) return {.z = z, .density = points.back().density};
  if (above == points.begin()) return {.z = z, .density = above->density};
  const ProfilePoint& below = *(above - 1);
  const double share = (z - below.z) / (above->z - below.z);
  ProfilePoint point = {.z = z, .density = {}};
  for (std::size_t k = 0; k < below.density.size(); ++k) {
    point.density.push_back(between(below.density[k], above->density[k], share));
  }
  return point;
}

}  // namespace

ProfileBins::ProfileBins(const Box& box, double width, std::size_t species, bool is_folded)
    : width_(width),
      is_folded_(is_folded),
      per_species_((is_folded ? 1 : 2) *
                   static_cast<std::size_t>(std::ceil(box.size[2] / 2.0 / width))),
      species_(species),
      volume_((is_folded ? 2.0 : 1.0) * width * box.size[0] * box.size[1]) {}

std::int64_t ProfileBins::bins_of_a_half() const {
  return static_cast<std::int64_t>(is_folded_ ? per_species_ : per_species_ / 2);
}

std::size_t ProfileBins::bin_of(double z, std::size_t species) const {
  const std::int64_t below = is_folded_ ? 0 : bins_of_a_half();  // bins below the middle
  const double place = is_folded_ ? std::abs(z) : z;
  const auto bin = static_cast<std::int64_t>(std::floor(place / width_)) + below;
  const std::int64_t inside =
      std::clamp<std::int64_t>(bin, 0, static_cast<std::int64_t>(per_species_) - 1);
  return species * per_species_ + static_cast<std::size_t>(inside);
}

double ProfileBins::middle(std::size_t bin) const {
  const std::int64_t below = is_folded_ ? 0 : bins_of_a_half();
  return (static_cast<double>(bin) + 0.5 - static_cast<double>(below)) * width_;
}

std::vector<ProfilePoint> profile(const System& system, const ProfileBins& bins,
                                  const Averages& averages, std::size_t points) {
  std::vector<ProfilePoint> all;
  const double unit = system.density_unit / bins.volume();
  for (std::size_t bin = 0; bin < bins.per_species(); ++bin) {
    ProfilePoint point = {.z = bins.middle(bin) * system.length_unit, .density = {}};
    for (std::size_t species = 0; species < system.species_names.size(); ++species) {
      const Average count = averages.count(species * bins.per_species() + bin);
      point.density.push_back({.mean = count.mean * unit, .error = count.error * unit});
    }
    all.push_back(point);
  }
  if (points == 0) return all;
  std::vector<ProfilePoint> sampled;
  const double height = system.box.size[2] * system.length_unit;
  for (std::size_t k = 0; k < points; ++k) {
    const double share =
        static_cast<double>(k) / static_cast<double>(std::max<std::size_t>(points - 1, 1));
    sampled.push_back(interpolated(all, height * (bins.is_folded() ? 0.5 * share : share - 0.5)));
  }
  return sampled;
}

std::string profile_text(const System& system, const std::vector<ProfilePoint>& points) {
  std::string text = "z_nm";
  for (const std::string& name : system.species_names) {
    text += fmt::format(",{0}_M,{0}_error_M", name);
  }
  text += "\n";
  for (const ProfilePoint& point : points) {
    text += fmt::format("{:.6f}", point.z);
    for (const Average& density : point.density) {
      text += fmt::format(",{:.9g},{:.3g}", density.mean, density.error);
    }
    text += "\n";
  }
  return text;
}

}  // namespace scavenger::md
