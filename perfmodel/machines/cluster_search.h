// Which cluster a job that comes again should run on next, from whole runs of it: type and count
// are places with features, and the logarithm of a run's cost is a Gaussian process over them.
//
// Its covariance is partly that of earlier jobs, partly smooth in the features. A job may also have
// a cliff: below some memory of the whole cluster its data does not fit, and a run costs more by a
// factor. Where the cliff is, how high, and whether there is one, are weighed by the runs. So is
// the scale of all errors: a job that surprises the search may do so again, and is searched for
// longer. The next run is that of the largest expected improvement (Jones, Schonlau and Welch
// 1998). Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "perfmodel/fit/matrix.h"

namespace scavenger::perfmodel {

struct ClusterPlace {
  std::vector<double> features;  // logarithms, such as of cores in all and cores of one VM
  double log_memory = 0.0;       // of the whole cluster
};

class ClusterSearch final {
 public:
  // `stored`: for each earlier job the logarithm of its cost at each place; nothing: it did not run
  // there. Throws DataError if there is no job, or one has not as many costs as there are places.
  ClusterSearch(std::vector<ClusterPlace> places,
                const std::vector<std::vector<std::optional<double>>>& stored);

  // A run of this job.
  void add(std::size_t place, double log_cost);

  struct Next {
    std::size_t place = 0;
    double gain = 1.0;  // expected, as a share of the best cost so far; before the first run: 1
  };
  // Of the places that can be had and were not run; nothing if there is none. Before the first run:
  // the best on average over the earlier jobs.
  std::optional<Next> next(const std::vector<bool>& can_be_had) const;

 private:
  struct Cliff {
    double plausibility = 0.0;
    double log_memory = 0.0;
    double height = 0.0;  // of ln(cost), below; 0: there is none
  };
  double offset(const Cliff& cliff, std::size_t place) const;

  std::vector<ClusterPlace> places_;
  std::vector<double> regret_;  // mean over earlier jobs
  std::vector<double> mean_;
  Matrix covariance_;
  std::vector<Cliff> cliffs_;
  std::vector<std::size_t> run_;
  std::vector<double> costs_;  // ln, of run_
};

}  // namespace scavenger::perfmodel
