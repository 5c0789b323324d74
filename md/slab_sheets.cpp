#include "md/slab_sheets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "runtime/base/error.h"

namespace scavenger::md {
namespace {

using Terms = std::array<double, kSheetTerms>;
constexpr double kLargestError = 2e-4;  // of the largest force

// Returns the monomials in u of the polynomial that agrees with f at the Chebyshev nodes of [0, 1].
template <typename Function>
Terms interpolate(const Function& f) {
  std::array<double, kSheetTerms> nodes = {};
  Terms differences = {};
  for (std::size_t k = 0; k < kSheetTerms; ++k) {
    const double angle =
        std::numbers::pi * (static_cast<double>(k) + 0.5) / static_cast<double>(kSheetTerms);
    nodes[k] = 0.5 + 0.5 * std::cos(angle);
    differences[k] = f(nodes[k]);
  }
  for (std::size_t order = 1; order < kSheetTerms; ++order) {
    for (std::size_t k = kSheetTerms - 1; k >= order; --k) {
      differences[k] = (differences[k] - differences[k - 1]) / (nodes[k] - nodes[k - order]);
    }
  }
  Terms terms = {};  // Newton's form, multiplied out by Horner's rule
  for (std::size_t k = kSheetTerms; k-- > 0;) {
    for (std::size_t power = kSheetTerms - 1; power > 0; --power) {
      terms[power] = terms[power - 1] - nodes[k] * terms[power];
    }
    terms[0] = differences[k] - nodes[k] * terms[0];
  }
  return terms;
}

double value(const Terms& terms, double u) {
  double sum = 0.0;
  for (std::size_t k = kSheetTerms; k-- > 0;) sum = sum * u + terms[k];
  return sum;
}

}  // namespace

double sheet_force(double dz, double side) {
  const double area = side * side;
  return 4.0 / area * std::atan(2.0 * dz * std::sqrt(4.0 * dz * dz + 2.0 * area) / area);
}

void set_sheets(PairForce& law, double side, double height) {
  const auto slope = [&](double u) {
    const double dz = std::max(height * std::sqrt(u), 1e-6 * side);
    return sheet_force(dz, side) / dz;
  };
  const Terms terms = interpolate(slope);
  double error = 0.0;
  for (double u = 0.0; u <= 1.0; u += 1.0 / 256) {
    error = std::max(error, std::sqrt(u) * std::abs(value(terms, u) - slope(u)));
  }
  if (error * height > kLargestError * sheet_force(height, side)) {
    throw InputError({.what = "the box is too narrow along the walls for the distance between them",
                      .where = "",
                      .remedy = "make its side at least as long as that distance"});
  }
  law.sheet_scale = static_cast<float>(1.0 / (height * height));
  for (std::size_t k = 0; k < kSheetTerms; ++k) {
    law.sheet[k] = static_cast<float>(terms[k]);
    law.sheet_energy[k] = static_cast<float>(-terms[k] / static_cast<double>(2 * k + 2));
  }
}

}  // namespace scavenger::md
