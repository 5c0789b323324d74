#include "md/electrolyte.h"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <sstream>

#include "md/simulation.h"
#include "test/support/temporary_folder.h"

using namespace scavenger;
using namespace scavenger::md;

namespace {

struct GroupPoint {
  double z = 0.0;
  double density[2] = {};
};

// The profile of one simulation of nanoconfinement-md (LAMMPS); nothing, and a warning, without it.
std::vector<GroupPoint> group_profile(int simulation) {
  const char* const folder = std::getenv("SCAVENGER_SHARED_DATA");
  const auto path =
      std::filesystem::path(folder != nullptr ? folder : SCAVENGER_SHARED_DATA_DEFAULT) / "md" /
      "density_profiles_162.csv.gz";
  if (!std::filesystem::exists(path)) {
    WARN("skipped: there is no " << path << "; set SCAVENGER_SHARED_DATA");
    return {};
  }
  const gzFile file = gzopen(path.c_str(), "rb");
  std::vector<GroupPoint> points;
  char line[512];
  while (gzgets(file, line, sizeof line) != nullptr) {
    std::vector<double> fields;
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, ',');)
      fields.push_back(std::atof(field.c_str()));
    if (line[0] < '0' || line[0] > '9' || static_cast<int>(fields[0]) != simulation) continue;
    points.push_back({.z = fields[7], .density = {fields[8], fields[10]}});
  }
  gzclose(file);
  return points;
}

}  // namespace

TEST_CASE("an electrolyte has the ions of nanoconfinement-md and no net charge") {
  const System system =
      make_electrolyte({.slit_nm = 4.0, .concentration = 1.0, .surface_charge = -0.01});
  CHECK(system.particles() == 492);  // 240 pairs and 12 counterions
  const System dilute =
      make_electrolyte({.slit_nm = 4.0, .concentration = 0.1, .surface_charge = -0.02});
  CHECK(dilute.particles() == 164);  // in a box of 15 nm: 54 pairs, 56 counterions
  const float sum = std::accumulate(dilute.charge.begin(), dilute.charge.end(), 0.0F);
  CHECK(sum == 56.0F);  // what the walls have
}

TEST_CASE("salts of other valencies and diameters are neutral") {
  const System system = make_electrolyte({.slit_nm = 3.0,
                                          .concentration = 0.3,
                                          .surface_charge = 0.0,
                                          .positive_valency = 2,
                                          .positive_diameter_nm = 0.6,
                                          .side_nm = 5.0});
  CHECK(std::accumulate(system.charge.begin(), system.charge.end(), 0.0F) == 0.0F);
  CHECK(system.radius.front() > system.radius.back());
  CHECK(system.radius.back() == 0.5F);
}

// Simulation 0: Z 4 nm, 0.1 mol/l, -0.02 C/m^2. A short run of the same has its profile by regions.
TEST_CASE("a short run has the density profile that others simulated") {
  const std::vector<GroupPoint> group = group_profile(0);
  if (group.empty()) return;
  TemporaryFolder folder;
  SimulationSettings settings;
  settings.motion.time_step = 0.008;
  settings.motion.equilibration_steps = 5000;
  settings.samples_per_block = 50;
  const ElectrolyteSettings ions = {.slit_nm = 4.0, .concentration = 0.1, .surface_charge = -0.02};
  Simulation simulation(make_electrolyte(ions), settings, folder.path());
  simulation.advance({.until = 45000});
  const ProfileBins bins(simulation.system().box, 0.05, 2);
  const auto own = profile(simulation.system(), bins, simulation.averages(), 400);
  const double own_width = own[1].z - own[0].z;
  const double group_width = group[1].z - group[0].z;
  for (std::size_t species = 0; species < 2; ++species) {
    double own_regions[4] = {};
    double group_regions[4] = {};  // by distance from the middle: half a nanometre each
    const auto region = [](double z) {
      return std::min<std::size_t>(3, static_cast<std::size_t>(std::abs(z) / 0.5));
    };
    for (const ProfilePoint& p : own) {
      own_regions[region(p.z)] += p.density[species].mean * own_width;
    }
    for (const GroupPoint& p : group) {
      group_regions[region(p.z)] += p.density[species] * group_width;
    }
    for (std::size_t k = 0; k < 4; ++k) {
      INFO("species " << species << ", region " << k);
      CHECK(own_regions[k] == Approx(group_regions[k]).epsilon(0.06));
    }
    CHECK(std::accumulate(own_regions, own_regions + 4, 0.0) ==
          Approx(std::accumulate(group_regions, group_regions + 4, 0.0)).epsilon(0.003));
  }
}
