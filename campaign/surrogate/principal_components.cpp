#include "campaign/surrogate/principal_components.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/check.h"

namespace scavenger::surrogate {
namespace {

using Rows = std::vector<std::vector<double>>;

double inner(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Eigenvectors of a symmetric matrix by Jacobi's rotations (Golub and Van Loan, 8.5): exact to
// rounding, and fast enough for the few hundred profiles of a campaign. `a` becomes diagonal;
// returns the eigenvectors as rows.
Rows diagonalise(Rows& a) {
  const std::size_t n = a.size();
  Rows vectors(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) vectors[i][i] = 1.0;
  double scale = 0.0;
  for (std::size_t i = 0; i < n; ++i) scale = std::max(scale, std::abs(a[i][i]));
  const auto rotate = [&](std::size_t p, std::size_t q) {
    const double theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    const double t = std::copysign(1.0, theta) / (std::abs(theta) + std::hypot(theta, 1.0));
    const double c = 1.0 / std::hypot(t, 1.0), s = t * c;
    for (std::size_t k = 0; k < n; ++k) {  // rows, then columns
      const double x = a[p][k], y = a[q][k];
      a[p][k] = c * x - s * y;
      a[q][k] = s * x + c * y;
      const double u = vectors[p][k], v = vectors[q][k];
      vectors[p][k] = c * u - s * v;
      vectors[q][k] = s * u + c * v;
    }
    for (std::size_t k = 0; k < n; ++k) {
      const double x = a[k][p], y = a[k][q];
      a[k][p] = c * x - s * y;
      a[k][q] = s * x + c * y;
    }
  };
  constexpr int kMostSweeps = 30;
  bool is_diagonal = false;
  for (int sweep = 0; sweep < kMostSweeps && !is_diagonal; ++sweep) {
    is_diagonal = true;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q)
        if (std::abs(a[p][q]) > 1e-13 * scale) {
          rotate(p, q);
          is_diagonal = false;
        }
  }
  return vectors;
}

// The share of a profile that is noise is the smaller, the fewer components are kept: so few cost
// little, and with few profiles the rule below cannot tell noise from a profile's shape.
constexpr std::size_t kFewestBeforeNoise = 8;

// Returns the singular value below which a component is mostly noise of unknown size that is
// independent in each bin (Gavish and Donoho 2014, "The optimal hard threshold for singular values
// is 4/sqrt(3)", with their approximation for any shape of the matrix). `squares`: of the singular
// values that are not 0, descending; a matrix of exact profiles has so few that there is none.
double noise_threshold(std::span<const double> squares, std::size_t profiles, std::size_t bins) {
  const std::size_t middle = std::min(profiles, bins) / 2;
  if (middle >= squares.size()) return 0.0;
  const auto a = static_cast<double>(profiles), b = static_cast<double>(bins);
  const double shape = std::min(a, b) / std::max(a, b);
  const double factor = ((0.56 * shape - 0.95) * shape + 1.82) * shape + 1.43;
  return factor * std::sqrt(squares[middle]);
}

}  // namespace

std::vector<double> PrincipalComponents::coordinates(std::span<const double> profile) const {
  SCAVENGER_CHECK(profile.size() == mean.size());
  std::vector<double> centred(profile.begin(), profile.end());
  for (std::size_t b = 0; b < centred.size(); ++b) centred[b] -= mean[b];
  std::vector<double> coordinates(components());
  for (std::size_t k = 0; k < coordinates.size(); ++k)
    coordinates[k] = inner(centred, directions[k]) / deviations[k];
  return coordinates;
}

std::vector<double> PrincipalComponents::profile(std::span<const double> coordinates) const {
  SCAVENGER_CHECK(coordinates.size() == components());
  std::vector<double> profile = mean;
  for (std::size_t k = 0; k < coordinates.size(); ++k) {
    const double length = coordinates[k] * deviations[k];
    for (std::size_t b = 0; b < profile.size(); ++b) profile[b] += length * directions[k][b];
  }
  return profile;
}

// The eigenvectors of the matrix of inner products of profiles, which is smaller than the one of
// bins: a campaign has fewer profiles than a profile has bins.
PrincipalComponents principal_components(std::span<const std::vector<double>> profiles,
                                         const ComponentChoice& choice) {
  SCAVENGER_CHECK(profiles.size() >= 2 && choice.most >= 1);
  const std::size_t n = profiles.size(), bins = profiles.front().size();
  const auto count = static_cast<double>(n);
  PrincipalComponents result;
  result.mean.assign(bins, 0.0);
  for (const auto& profile : profiles)
    for (std::size_t b = 0; b < bins; ++b) result.mean[b] += profile[b] / count;
  Rows centred(profiles.begin(), profiles.end());
  for (auto& row : centred)
    for (std::size_t b = 0; b < bins; ++b) row[b] -= result.mean[b];
  Rows products(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j)
      products[i][j] = products[j][i] = inner(centred[i], centred[j]);
  const Rows vectors = diagonalise(products);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return products[i][i]; });
  double total = 0.0;
  for (std::size_t i = 0; i < n; ++i) total += std::max(0.0, products[i][i]);
  std::vector<double> squares;
  for (const std::size_t i : order)
    if (products[i][i] > 1e-12 * total) squares.push_back(products[i][i]);
  const double threshold = choice.without_noise ? noise_threshold(squares, n, bins) : 0.0;
  double held = 0.0;
  for (std::size_t k = 0; k < squares.size(); ++k) {
    if (k == choice.most || held >= choice.share * total) break;
    if (k >= kFewestBeforeNoise && std::sqrt(squares[k]) < threshold) break;
    const std::size_t i = order[k];
    const double square = squares[k];
    std::vector<double> direction(bins, 0.0);
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t b = 0; b < bins; ++b)
        direction[b] += vectors[i][row] * centred[row][b] / std::sqrt(square);
    result.directions.push_back(std::move(direction));
    result.deviations.push_back(std::sqrt(square / count));
    held += square;
  }
  if (result.directions.empty()) {
    result.directions.emplace_back(bins, 1.0 / std::sqrt(static_cast<double>(bins)));
    result.deviations.push_back(1.0);
  }
  return result;
}

}  // namespace scavenger::surrogate
