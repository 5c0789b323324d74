#include "md/slab_sheets.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "runtime/base/error.h"

using namespace scavenger;
using namespace scavenger::md;

namespace {

// The force of a uniform sheet of density 1/side^2 less that of its square hole, summed over it.
double integrated_force(double dz, double side) {
  constexpr int kCells = 400;
  const double cell = side / kCells;
  double hole = 0.0;
  for (int i = 0; i < kCells; ++i) {
    for (int j = 0; j < kCells; ++j) {
      const double x = (i + 0.5) * cell - side / 2.0;
      const double y = (j + 0.5) * cell - side / 2.0;
      hole += dz * std::pow(x * x + y * y + dz * dz, -1.5) * cell * cell;
    }
  }
  return (2.0 * std::numbers::pi - hole) / (side * side);
}

double polynomial_force(const PairForce& law, double dz) {
  const double u = dz * dz * static_cast<double>(law.sheet_scale);
  double sum = 0.0;
  for (std::size_t k = kSheetTerms; k-- > 0;) sum = sum * u + static_cast<double>(law.sheet[k]);
  return sum * dz;
}

}  // namespace

TEST_CASE("the force of the far images is that of a sheet with a square hole") {
  for (const double dz : {1.0, 4.0, 9.0}) {
    CHECK(sheet_force(dz, 24.1) == Approx(integrated_force(dz, 24.1)).epsilon(1e-3));
    CHECK(sheet_force(-dz, 24.1) == -sheet_force(dz, 24.1));
  }
}

TEST_CASE("the polynomial of the sheets is the force at every distance") {
  for (const double height : {5.0, 12.0, 24.0}) {
    PairForce law;
    set_sheets(law, 24.1, height);
    const double largest = sheet_force(height, 24.1);
    for (double dz = 0.0; dz <= height; dz += 0.1) {
      CHECK(std::abs(polynomial_force(law, dz) - sheet_force(dz, 24.1)) < 3e-4 * largest);
    }
  }
}

TEST_CASE("the energy of the sheets is the integral of their force") {
  PairForce law;
  set_sheets(law, 24.1, 12.0);
  double integral = 0.0;
  for (double dz = 0.0005; dz < 8.0; dz += 0.001) integral += polynomial_force(law, dz) * 0.001;
  double energy = 0.0;
  const double u = 64.0 * static_cast<double>(law.sheet_scale);
  for (std::size_t k = kSheetTerms; k-- > 0;) {
    energy = energy * u + static_cast<double>(law.sheet_energy[k]);
  }
  CHECK(energy * 64.0 == Approx(-integral).epsilon(1e-4));
}

TEST_CASE("a slit far wider than its box is refused") {
  PairForce law;
  CHECK_THROWS_AS(set_sheets(law, 1.0, 50.0), InputError);
}
