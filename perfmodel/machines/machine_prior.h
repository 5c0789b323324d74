// What is believed of a job's parameters on machines of each type before it was measured there.
//
// With r the logarithm of a type's compute rate, m that of its memory bandwidth, and l that of its
// link (catalogue):
//   ln c = L - e r - g (m - r) + u      g: roofline exponent, 0 bound by compute, 1 by memory
//   ln a = L' - e' r1 + u'              r1: rate of one core
//   ln s = L'' - k l + u''
// L, e, g and k belong to the job, u to the job on the type. All are normal and independent, so
// that the parameters of two types are correlated through what they share. If the catalogue does
// not know the type on which the job ran, that is taken for the median of the others, which are
// uncertain together then, and differ from each other as the catalogue says. Pure.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "perfmodel/machines/machine_form.h"

namespace scavenger::perfmodel {

// Of one machine type, for one worker. Only ratios between types matter, so any unit does as long
// as all types have the same. Nothing: unknown.
struct MachineFeatures {
  std::string name;
  std::string family;               // types of one family have the same processor and network
  std::optional<double> rate;       // of all cores, or of the GPU
  std::optional<double> core_rate;  // of one core
  std::optional<double> memory_bandwidth;
  std::optional<double> link;
};

struct NormalBelief {
  double mean = 0.0;
  double spread = 1.0;  // standard deviation
};

struct MachinePriors {
  NormalBelief rate_exponent{1.0, 0.15};     // e
  NormalBelief roofline_exponent{0.3, 0.3};  // g
  NormalBelief core_exponent{0.5, 0.5};      // e'
  NormalBelief link_exponent{0.8, 0.3};      // k
  // Of u, by parameter, in the order of MachineParameter: between types whose features are known.
  std::array<double, kMachineParameters> own_spread{0.5, 0.2, 0.5, 0.5, 0.4, 0.4};
  // The share of u's variance that types of one family have in common.
  double family_share = 0.7;
  // Added to u if the rate (for ln s: the link) is not known. If that of the type on which the job
  // ran is not, the others have it in common, or what they differ by if that is more.
  double unknown_spread = 0.7;
  // Of L: standard deviation about what the measurements suggest.
  std::array<double, kMachineParameters> level_spread{2.0, 2.0, 1.0, 1.0, 2.0, 1.5};
};

// Means and covariances of the parameters over types, about a scale of the job.
class ParameterPrior final {
 public:
  // `log_seconds`, `log_batch`: a typical iteration of the job; `reference`: the type it ran on.
  ParameterPrior(std::span<const MachineFeatures> types, const MachinePriors& priors,
                 double log_seconds, double log_batch, std::size_t reference);

  const MachineParameters& mean(std::size_t type) const { return means_[type]; }
  double covariance(MachineParameter parameter, std::size_t a, std::size_t b) const;

 private:
  struct Position {  // of a type, relative to the reference's
    std::string family;
    double rate = 0.0, imbalance = 0.0, core_rate = 0.0, link = 0.0;
    bool has_rate = false, has_link = false;
    bool is_reference = false;
  };
  bool is_known(MachineParameter parameter, std::size_t type) const;

  MachinePriors priors_;
  std::vector<Position> positions_;
  std::vector<MachineParameters> means_;
  MachineParameters common_spread_{};  // of all types but the reference, if that is not known
};

}  // namespace scavenger::perfmodel
