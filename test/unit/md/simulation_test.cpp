#include "md/simulation.h"

#include <catch2/catch.hpp>

#include "md/electrolyte.h"
#include "md/fluid.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/random.h"
#include "test/support/temporary_folder.h"

using namespace scavenger;
using namespace scavenger::md;

namespace {

System small_electrolyte() {
  return make_electrolyte({.slit_nm = 2.0, .concentration = 0.5, .side_nm = 5.0});
}

SimulationSettings quick_settings() {
  SimulationSettings settings;
  settings.motion.equilibration_steps = 100;
  settings.sample_every = 10;
  settings.samples_per_block = 7;
  return settings;
}

std::string everything_in(const std::filesystem::path& folder) {
  return read_file(folder / "state.bin") + read_file(folder / "profile.csv") +
         read_file(folder / "result.json");
}

}  // namespace

TEST_CASE("a simulation in segments has the bits of one that was not cut, states and results") {
  TemporaryFolder whole;
  {
    Simulation simulation(small_electrolyte(), quick_settings(), whole.path());
    simulation.advance({.until = 1000});
    simulation.write_results(0);
  }
  RandomStream stream(11, "cuts");
  for (int trial = 0; trial < 50; ++trial) {
    TemporaryFolder cut;
    std::int64_t until = 0;
    while (until < 1000) {
      until =
          std::min<std::int64_t>(1000, until + 1 + static_cast<std::int64_t>(stream.below(250)));
      const auto sets = supported_instruction_sets();  // the next machine may have another one
      Simulation simulation(small_electrolyte(), quick_settings(), cut.path(),
                            pair_kernels(sets[stream.below(sets.size())]));
      simulation.advance({.until = until});
      simulation.write_results(0);
    }
    CHECK(everything_in(cut.path()) == everything_in(whole.path()));
  }
}

TEST_CASE("a request to stop leaves a state from which it goes on") {
  TemporaryFolder folder;
  int questions = 0;
  {
    Simulation simulation(small_electrolyte(), quick_settings(), folder.path());
    CHECK(!simulation.advance(
        {.until = 1000, .is_stop_requested = [&] { return ++questions == 3; }}));
    CHECK(simulation.step() < 1000);
  }
  Simulation simulation(small_electrolyte(), quick_settings(), folder.path());
  CHECK(simulation.step() == read_state(folder.path())->phase.step);
  CHECK(simulation.advance({.until = 1000}));
}

TEST_CASE("the state of another simulation is refused, and settings out of range") {
  TemporaryFolder folder;
  Simulation(small_electrolyte(), quick_settings(), folder.path()).advance({.until = 20});
  SimulationSettings other = quick_settings();
  other.motion.seed = 2;
  CHECK_THROWS_WITH(Simulation(small_electrolyte(), other, folder.path()),
                    Catch::Contains("another simulation") && Catch::Contains("--seed 1, not 2"));
  CHECK_THROWS_AS(make_fluid({.atoms = 1}), InputError);
  CHECK_THROWS_AS(make_fluid({.atoms = 50, .cutoff = 3.0}), InputError);
  CHECK_THROWS_AS(make_electrolyte({.surface_charge = 0.1}), InputError);
}

TEST_CASE("the profile holds every ion, in bins and interpolated") {
  TemporaryFolder folder;
  Simulation simulation(small_electrolyte(), quick_settings(), folder.path());
  simulation.advance({.until = 2000});
  const System& system = simulation.system();
  const ProfileBins bins(system.box, 0.05, 2);
  std::size_t positive = 0;
  for (const std::uint8_t species : system.species) positive += species == 0 ? 1U : 0U;
  for (const std::size_t points : {0U, 400U}) {
    const auto curve = profile(system, bins, simulation.averages(), points);
    const double width = curve[1].z - curve[0].z;
    double sum = 0.0;
    for (const ProfilePoint& point : curve) sum += point.density[0].mean * width;
    // mol/l times nm times the area: 0.6022 ions each
    CHECK(sum * 0.602214076 * 25.0 == Approx(static_cast<double>(positive)).epsilon(0.002));
  }
}

TEST_CASE("a folded profile is the mean of both halves, and the motion does not depend on it") {
  TemporaryFolder whole, half;
  SimulationSettings folded = quick_settings();
  folded.is_folded = true;
  Simulation all(small_electrolyte(), quick_settings(), whole.path());
  Simulation one(small_electrolyte(), folded, half.path());
  all.advance({.until = 1000});
  one.advance({.until = 1000});
  CHECK(read_state(whole.path())->phase.positions == read_state(half.path())->phase.positions);
  const auto both =
      profile(all.system(), ProfileBins(all.system().box, 0.05, 2), all.averages(), 0);
  const ProfileBins bins(one.system().box, 0.05, 2, true);
  const auto curve = profile(one.system(), bins, one.averages(), 0);
  REQUIRE(2 * curve.size() == both.size());
  for (std::size_t k = 0; k < curve.size(); ++k) {
    const ProfilePoint& right = both[curve.size() + k];
    const ProfilePoint& left = both[curve.size() - 1 - k];
    CHECK(curve[k].z == Approx(right.z));
    for (const std::size_t species : {0U, 1U})
      CHECK(curve[k].density[species].mean ==
            Approx((left.density[species].mean + right.density[species].mean) / 2.0));
  }
  const auto points = profile(one.system(), bins, one.averages(), 5);
  CHECK(points.front().z == 0.0);
  CHECK(points.back().z == Approx(1.0));  // the slit is 2 nm wide
  CHECK_THROWS_WITH(Simulation(small_electrolyte(), quick_settings(), half.path()),
                    Catch::Contains("with --fold"));
  CHECK_THROWS_WITH(Simulation(small_electrolyte(), folded, whole.path()),
                    Catch::Contains("without --fold"));
}

// NIST's Standard Reference Simulation Website: T 0.85, rho 0.776, U -5.5121, P 0.0068.
TEST_CASE("the Lennard-Jones fluid has the energy and pressure that others published") {
  TemporaryFolder folder;
  SimulationSettings settings;
  settings.motion.time_step = 0.004;
  settings.motion.equilibration_steps = 2000;
  settings.sample_every = 10;
  settings.samples_per_block = 100;
  const FluidSettings fluid = {.atoms = 256, .density = 0.776, .temperature = 0.85};
  Simulation simulation(make_fluid(fluid), settings, folder.path());
  simulation.advance({.until = 22000});
  const Average energy = simulation.average(Quantity::kPotential);
  const Average pressure = simulation.average(Quantity::kPressure);
  CHECK(std::abs(energy.mean - -5.5121) < 0.01 + 3.0 * energy.error);
  CHECK(std::abs(pressure.mean - 0.0068) < 0.03 + 3.0 * pressure.error);
  CHECK(energy.error < 0.01);
  CHECK(pressure.error < 0.03);
}
