#include "md/dynamics.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "md/electrolyte.h"
#include "md/fluid.h"
#include "md/thermal_noise.h"

using namespace scavenger::md;

TEST_CASE("thermal kicks have mean 0, variance 1 and no correlation") {
  double sum = 0.0;
  double squares = 0.0;
  double products = 0.0;
  double last = 0.0;
  constexpr int kSteps = 200;
  constexpr int kNumbers = 1000;
  for (int step = 0; step < kSteps; ++step) {
    const ThermalNoise noise(3, step);
    for (std::uint64_t i = 0; i < kNumbers; ++i) {
      const double kick = noise.kick(i);
      sum += kick;
      squares += kick * kick;
      products += kick * last;
      last = kick;
    }
  }
  constexpr double kAll = kSteps * kNumbers;
  CHECK(std::abs(sum / kAll) < 0.01);
  CHECK(std::abs(squares / kAll - 1.0) < 0.01);
  CHECK(std::abs(products / kAll) < 0.01);
}

TEST_CASE("energy is conserved without a thermostat") {
  const System system = make_fluid({.atoms = 108,
                                    .density = 0.776,
                                    .temperature = 0.85,
                                    .cutoff = 2.5,
                                    .force = FluidForce::kShiftedForce});
  MotionSettings settings;
  settings.time_step = 0.002;
  settings.equilibration_steps = 2000;
  settings.constant_energy = true;
  Dynamics dynamics(system, settings, best_pair_kernels());
  const auto energy = [&] {
    const Energies energies = dynamics.energies();
    return (energies.potential + energies.kinetic) / static_cast<double>(system.particles());
  };
  while (dynamics.phase().step < settings.equilibration_steps) dynamics.step();
  const double first = energy();
  double farthest = 0.0;
  while (dynamics.phase().step < 12000) {
    dynamics.step();
    if (dynamics.phase().step % 100 == 0) {
      farthest = std::max(farthest, std::abs(energy() - first));
    }
  }
  CHECK(farthest < 5e-4 * std::abs(first));  // the rounding of Verlet, which does not grow
  CHECK(std::abs(energy() - first) < 4e-4 * std::abs(first));
}

TEST_CASE("the thermostat keeps its temperature, for any friction") {
  const double friction = GENERATE(1.0, 5.0);
  const System system = make_fluid({.atoms = 108,
                                    .density = 0.5,
                                    .temperature = 1.3,
                                    .cutoff = 1.2,
                                    .force = FluidForce::kRepulsive});
  MotionSettings settings;
  settings.friction = friction;
  Dynamics dynamics(system, settings, best_pair_kernels());
  double sum = 0.0;
  int samples = 0;
  while (dynamics.phase().step < 20000) {
    dynamics.step();
    if (dynamics.phase().step < 2000 || dynamics.phase().step % 10 != 0) continue;
    sum += dynamics.energies().temperature;
    ++samples;
  }
  CHECK(sum / samples == Approx(1.3).epsilon(0.02));
}

TEST_CASE("a particle that is pushed too hard is noticed") {
  System system = make_fluid({.atoms = 108, .density = 0.5, .temperature = 1.0});
  system.initial_positions[1] = system.initial_positions[0];
  system.initial_positions[1][0] += 0.3;
  Dynamics dynamics(system, {}, best_pair_kernels());
  CHECK_THROWS_AS(
      [&] {
        for (int i = 0; i < 100; ++i) dynamics.step();
      }(),
      Diverged);
}

TEST_CASE("ions stay between the walls") {
  const System system = make_electrolyte({.slit_nm = 3.0, .concentration = 0.2, .side_nm = 5.0});
  Dynamics dynamics(system, {}, best_pair_kernels());
  for (int i = 0; i < 3000; ++i) dynamics.step();
  for (const Vector& position : dynamics.phase().positions) {
    CHECK(std::abs(position[2]) < system.box.size[2] / 2.0 - 0.3);
  }
}
