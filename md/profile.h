// Density profiles between two walls, one for each species, from counts in bins along z.
//
// Bin boundaries are at whole multiples of the width from the middle of the slit, as LAMMPS has
// them with `bin/1d z center`. Both walls are equal, so a profile is symmetric: a folded one counts
// both halves in the same bins, from the middle to the wall, and has half the variance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "md/averages.h"
#include "md/system.h"

namespace scavenger::md {

class ProfileBins final {
 public:
  ProfileBins(const Box& box, double width, std::size_t species, bool is_folded = false);

  std::size_t per_species() const { return per_species_; }
  std::size_t all() const { return per_species_ * species_; }
  std::size_t bin_of(double z, std::size_t species) const;
  double middle(std::size_t bin) const;      // of a bin below per_species()
  double volume() const { return volume_; }  // that a bin counts ions of
  bool is_folded() const { return is_folded_; }

 private:
  std::int64_t bins_of_a_half() const;

  double width_ = 0.05;
  bool is_folded_ = false;
  std::size_t per_species_ = 0;
  std::size_t species_ = 0;
  double volume_ = 0.0;
};

// A point of the profile as it is written: place and densities in the system's output units.
struct ProfilePoint {
  double z = 0.0;
  std::vector<Average> density;  // one for each species
};

// `points` = 0: one for each bin. Else so many from wall to wall (folded: from the middle to the
// wall), by linear interpolation, so that slits of all widths have as many.
std::vector<ProfilePoint> profile(const System& system, const ProfileBins& bins,
                                  const Averages& averages, std::size_t points);

// CSV with a header: z_nm, then NAME_M and NAME_error_M of each species.
std::string profile_text(const System& system, const std::vector<ProfilePoint>& points);

}  // namespace scavenger::md
