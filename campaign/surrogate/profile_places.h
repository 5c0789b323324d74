// Where the values of a predicted profile lie.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "campaign/surrogate/sample.h"

namespace scavenger::surrogate {

// The places of a profile may move with the parameters: those of a gap follow its width. Each is
// an affine function of the parameters, fitted to all profiles. If they move in another way, they
// are those of the profile whose parameters are nearest. Pure.
class ProfilePlaces final {
 public:
  // `parameters` and `places`: of each profile, at least one; all with the same number of places.
  ProfilePlaces(UnitSpace space, std::span<const std::vector<double>> parameters,
                std::vector<std::vector<double>> places);

  std::size_t rows() const { return places_.front().size(); }
  std::vector<double> at(std::span<const double> parameters) const;

 private:
  void fit();

  UnitSpace space_;
  std::vector<std::vector<double>> points_;  // in [-1, 1]
  std::vector<std::vector<double>> places_;
  bool are_fixed_ = false;
  std::vector<std::vector<double>> coefficients_;  // of each place; empty: not affine
};

}  // namespace scavenger::surrogate
