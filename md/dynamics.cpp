#include "md/dynamics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "md/thermal_noise.h"
#include "runtime/base/check.h"
#include "runtime/base/random.h"

namespace scavenger::md {
namespace {

constexpr double kFarthestDrift = 0.3;         // diameters in half a step; more is no physics
constexpr double kStepsOfSpan = 4294967296.0;  // 2^32

std::vector<Vector> drawn_velocities(const System& system, std::uint64_t seed) {
  RandomStream stream(seed, "velocities");
  std::vector<Vector> velocities(system.particles());
  Vector mean = {};
  for (Vector& velocity : velocities) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      velocity[axis] = stream.normal() * std::sqrt(system.temperature);
      mean[axis] += velocity[axis] / static_cast<double>(system.particles());
    }
  }
  for (Vector& velocity : velocities) {
    for (std::size_t axis = 0; axis < 3; ++axis) velocity[axis] -= mean[axis];
  }
  return velocities;
}

}  // namespace

Dynamics::Dynamics(const System& system, const MotionSettings& settings, const PairKernels& kernels)
    : Dynamics(system, settings, kernels,
               {.step = 0,
                .positions = system.initial_positions,
                .velocities = drawn_velocities(system, settings.seed)}) {}

Dynamics::Dynamics(const System& system, const MotionSettings& settings, const PairKernels& kernels,
                   Phase phase)
    : system_(system), settings_(settings), kernels_(kernels), phase_(std::move(phase)) {
  SCAVENGER_CHECK(phase_.positions.size() == system_.particles() &&
                  phase_.velocities.size() == system_.particles());
  prepare();
  compute_forces(false);
}

void Dynamics::prepare() {
  const std::size_t n = system_.particles();
  padded_ = (n + kLanes - 1) / kLanes * kLanes;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    steps_[axis].assign(padded_, 0);
    pair_force_[axis].assign(padded_, 0.0F);
    span_[axis] = system_.box.size[axis];
  }
  if (system_.box.has_walls) span_[2] *= 2.0;  // so that no difference wraps round
  wall_force_.assign(n, 0.0);
  radius_ = system_.radius;
  radius_.resize(padded_, 0.5F);
  charge_ = system_.charge;
  charge_.resize(padded_, 0.0F);
}

void Dynamics::compute_forces(bool with_energies) {
  const std::size_t n = system_.particles();
  PairBlock block;
  block.n = n;
  block.padded = padded_;
  block.radius = radius_.data();
  block.charge = charge_.data();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double scale = kStepsOfSpan / span_[axis];
    for (std::size_t i = 0; i < n; ++i) {
      const auto steps = static_cast<std::int64_t>(phase_.positions[i][axis] * scale);
      steps_[axis][i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(steps));
    }
    block.position[axis] = steps_[axis].data();
    block.unit[axis] = static_cast<float>(span_[axis] / kStepsOfSpan);
    block.force[axis] = pair_force_[axis].data();
  }
  const bool is_charged = !system_.charge.empty();
  const auto kernel = is_charged ? (with_energies ? kernels_.charged_energies : kernels_.charged)
                                 : (with_energies ? kernels_.neutral_energies : kernels_.neutral);
  kernel(system_.law, block);
  pair_energy_ = block.energy;
  virial_ = block.virial;
  has_energies_ = with_energies;
  if (system_.box.has_walls) add_wall_forces();
}

// The walls repel like the kernel's particles, with the particle's radius as the length.
void Dynamics::add_wall_forces() {
  static const double kReach = std::pow(2.0, 1.0 / 6.0);
  const double half = system_.box.size[2] / 2.0;
  wall_energy_ = 0.0;
  for (std::size_t i = 0; i < system_.particles(); ++i) {
    const double z = phase_.positions[i][2];
    const double radius = static_cast<double>(system_.radius[i]);
    double force = 0.0;
    for (const double side : {-1.0, 1.0}) {
      const double distance = half - side * z;
      if (distance >= kReach * radius) continue;
      const double s2 = radius * radius / (distance * distance);
      const double s6 = s2 * s2 * s2;
      force -= side * 24.0 * (2.0 * s6 * s6 - s6) / distance;
      wall_energy_ += 4.0 * (s6 * s6 - s6) + 1.0;
    }
    wall_force_[i] = force;
  }
}

void Dynamics::kick(double time) {
  for (std::size_t i = 0; i < system_.particles(); ++i) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      phase_.velocities[i][axis] += time * static_cast<double>(pair_force_[axis][i]);
    }
    phase_.velocities[i][2] += time * wall_force_[i];
  }
}

void Dynamics::drift(double time) {
  const Vector& size = system_.box.size;
  double farthest = 0.0;
  bool is_inside = true;
  for (std::size_t i = 0; i < system_.particles(); ++i) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double way = time * phase_.velocities[i][axis];
      double place = phase_.positions[i][axis] + way;
      const bool is_wall = axis == 2 && system_.box.has_walls;
      const double half = size[axis] / 2.0;
      if (!is_wall && place >= half) place -= size[axis];
      if (!is_wall && place < -half) place += size[axis];
      phase_.positions[i][axis] = place;
      is_inside = is_inside && std::abs(place) <= half;  // not if it is not a number
      farthest = std::max(farthest, std::abs(way));
    }
  }
  if (is_inside && farthest <= kFarthestDrift) return;
  throw Diverged(fmt::format("step {}: a particle {}", phase_.step + 1,
                             is_inside ? "is too fast" : "left the box"));
}

void Dynamics::exchange_heat() {
  // Pade's form of exp(-x): no function of a library, whose last bit may differ between machines.
  const double x = settings_.friction * settings_.time_step / 2.0;
  const double keep = (1.0 - x) / (1.0 + x);
  const double draw = std::sqrt((1.0 - keep * keep) * system_.temperature);
  const ThermalNoise noise(settings_.seed, phase_.step);
  for (std::size_t i = 0; i < system_.particles(); ++i) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      double& velocity = phase_.velocities[i][axis];
      velocity = keep * velocity + draw * noise.kick(3 * i + axis);
    }
  }
}

bool Dynamics::is_thermostatted() const {
  return !settings_.constant_energy || phase_.step < settings_.equilibration_steps;
}

void Dynamics::step(bool with_energies) {
  const double half = settings_.time_step / 2.0;
  kick(half);
  drift(half);
  if (is_thermostatted()) exchange_heat();
  drift(half);
  compute_forces(with_energies);
  kick(half);
  ++phase_.step;
}

Energies Dynamics::energies() {
  if (!has_energies_) compute_forces(true);  // the same forces again
  const auto n = static_cast<double>(system_.particles());
  double squares = 0.0;
  for (const Vector& velocity : phase_.velocities) {
    for (const double component : velocity) squares += component * component;
  }
  const double temperature = squares / (3.0 * n);
  const double volume = system_.box.volume();
  return {.potential = pair_energy_ + wall_energy_ + n * system_.tail_energy_per_particle,
          .kinetic = squares / 2.0,
          .temperature = temperature,
          .pressure = n * temperature / volume + virial_ / (3.0 * volume) + system_.tail_pressure};
}

}  // namespace scavenger::md
