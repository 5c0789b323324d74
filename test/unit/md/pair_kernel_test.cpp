#include "md/pair_kernel.h"

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "md/slab_sheets.h"
#include "runtime/base/random.h"

using namespace scavenger;
using namespace scavenger::md;

namespace {

constexpr double kSide = 10.0;

// n particles on a disturbed lattice, of two sizes and charges.
struct Particles {
  explicit Particles(std::size_t count) : n(count) {
    padded = (n + kLanes - 1) / kLanes * kLanes;
    RandomStream stream(7, "particles");
    for (std::size_t axis = 0; axis < 3; ++axis) {
      steps[axis].resize(padded);
      forces[axis].resize(padded);
    }
    for (std::size_t i = 0; i < padded; ++i) {
      const std::size_t cell[3] = {i % 8, i / 8 % 8, i / 64};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double place = (static_cast<double>(cell[axis]) + 0.4 * stream.uniform()) / 8.0;
        steps[axis][i] = static_cast<std::int32_t>(
            static_cast<std::uint32_t>(static_cast<std::int64_t>(place * 4294967296.0)));
      }
      radius.push_back(i % 3 == 0 ? 0.6F : 0.5F);
      charge.push_back(i % 2 == 0 ? 1.0F : -2.0F);
    }
  }

  PairBlock block() {
    PairBlock result;
    result.n = n;
    result.padded = padded;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      result.position[axis] = steps[axis].data();
      result.unit[axis] = static_cast<float>(kSide / 4294967296.0);
      result.force[axis] = forces[axis].data();
    }
    result.radius = radius.data();
    result.charge = charge.data();
    return result;
  }

  std::size_t n;
  std::size_t padded;
  std::array<std::vector<std::int32_t>, 3> steps;
  std::array<std::vector<float>, 3> forces;
  std::vector<float> radius;
  std::vector<float> charge;
};

PairForce sample_law() {
  PairForce law;
  law.least_s2 = 0.15F;
  law.energy_shift = 0.3F;
  law.force_shift = -0.04F;
  law.bjerrum = 1.7F;
  set_sheets(law, kSide, kSide);
  return law;
}

struct Reference {
  std::vector<std::array<double, 3>> forces;
  double energy = 0.0;
  double virial = 0.0;
};

// The same sums in double precision, written down plainly.
Reference reference(const Particles& p, const PairForce& law, bool is_charged) {
  Reference result;
  result.forces.assign(p.n, {});
  for (std::size_t i = 0; i < p.n; ++i) {
    for (std::size_t j = i + 1; j < p.n; ++j) {
      std::array<double, 3> d;
      double r2 = 0.0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        d[axis] = (static_cast<double>(p.steps[axis][i]) - static_cast<double>(p.steps[axis][j])) *
                  kSide / 4294967296.0;
        d[axis] -= kSide * std::round(d[axis] / kSide);
        r2 += d[axis] * d[axis];
      }
      const double r = std::sqrt(r2);
      const double s = static_cast<double>(p.radius[i] + p.radius[j]) / r;
      const double s6 = std::pow(s, 6.0);
      double radial = 0.0;
      if (s * s > static_cast<double>(law.least_s2)) {
        const double shift = static_cast<double>(law.force_shift);
        radial = 24.0 * (2.0 * s6 * s6 - s6) - shift * r;
        result.energy += 4.0 * (s6 * s6 - s6) + static_cast<double>(law.energy_shift) + shift * r;
      }
      double along_z = 0.0;
      if (is_charged) {
        const double charges = static_cast<double>(law.bjerrum * p.charge[i] * p.charge[j]);
        radial += charges / r;
        along_z = charges * sheet_force(d[2], kSide);
        result.energy += charges / r;
        for (double z = 0.005 * d[2], k = 0; k < 100; ++k, z += 0.01 * d[2]) {
          result.energy -= charges * sheet_force(z, kSide) * 0.01 * d[2];
        }
      }
      result.virial += radial + along_z * d[2];
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double force = radial / r2 * d[axis] + (axis == 2 ? along_z : 0.0);
        result.forces[i][axis] += force;
        result.forces[j][axis] -= force;
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("pair forces are those of the laws, computed in double precision") {
  const bool is_charged = GENERATE(false, true);
  const std::size_t n = GENERATE(2, 15, 16, 17, 33, 200);
  Particles particles(n);
  const PairForce law = sample_law();
  const Reference expected = reference(particles, law, is_charged);
  PairBlock block = particles.block();
  const PairKernels& kernels = best_pair_kernels();
  (is_charged ? kernels.charged_energies : kernels.neutral_energies)(law, block);
  double largest = 0.0;
  for (const auto& force : expected.forces) {
    for (const double component : force) largest = std::max(largest, std::abs(component));
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      CHECK(std::abs(static_cast<double>(particles.forces[axis][i]) - expected.forces[i][axis]) <
            2e-5 * largest + 1e-4);
    }
  }
  CHECK(block.energy == Approx(expected.energy).epsilon(2e-4).margin(1e-3));
  CHECK(block.virial == Approx(expected.virial).epsilon(2e-4).margin(1e-3));
}

TEST_CASE("all instruction sets, with energies and without, give the same bits") {
  const std::size_t n = GENERATE(2, 16, 31, 250);
  const PairForce law = sample_law();
  for (const bool is_charged : {false, true}) {
    std::vector<std::uint32_t> expected;
    double energy = 0.0;
    for (const InstructionSet set : supported_instruction_sets()) {
      const PairKernels& kernels = pair_kernels(set);
      for (const bool has_energies : {true, false}) {
        Particles particles(n);
        PairBlock block = particles.block();
        if (is_charged) (has_energies ? kernels.charged_energies : kernels.charged)(law, block);
        if (!is_charged) (has_energies ? kernels.neutral_energies : kernels.neutral)(law, block);
        std::vector<std::uint32_t> bits;
        for (const auto& forces : particles.forces) {
          for (std::size_t i = 0; i < n; ++i)
            bits.push_back(std::bit_cast<std::uint32_t>(forces[i]));
        }
        if (expected.empty()) expected = bits;
        CHECK(bits == expected);
        if (!has_energies) continue;
        if (set == InstructionSet::kPortable) energy = block.energy;
        CHECK(block.energy == energy);
      }
    }
  }
}
