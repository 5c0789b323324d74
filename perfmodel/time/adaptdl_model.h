// AdaptDL's throughput model (Qiao et al., Pollux, OSDI 2021), for comparison with ours.
//
//   Tc = alpha_c + beta_c b
//   Tn = 0 (K = 1) | alpha_r + beta_r max(K - 2, 0) (one node) | alpha_n + beta_n max(K - 2, 0)
//   tau = (Tc^gamma + Tn^gamma)^(1/gamma), gamma in [1, 10]
// fitted as adaptdl/goodput.py does: RMSLE(Tc) + RMSLE(tau) + 1e-3 (gamma - 1)^2
// + 1e-2 [(beta_n / alpha_n)^2 + (beta_r / alpha_r)^2], with what was not observed pinned to 1e-8.
// Gradient accumulation is left out.
#pragma once

#include <span>

namespace scavenger::perfmodel {

struct AdaptDlObservation {
  double nodes = 1.0;
  double workers = 1.0;
  double local_batch = 1.0;
  double seconds = 0.0;          // per iteration
  double compute_seconds = 0.0;  // of it before synchronisation is waited for
};

struct AdaptDlParameters {
  double compute_base = 0.0;        // alpha_c
  double compute_per_sample = 0.0;  // beta_c
  double network_base = 0.0;        // alpha_n
  double network_slope = 0.0;       // beta_n
  double local_base = 0.0;          // alpha_r
  double local_slope = 0.0;         // beta_r
  double overlap = 1.0;             // gamma
};

// Throws DataError where there is no observation, or one with a time that is not positive.
AdaptDlParameters fit_adaptdl(std::span<const AdaptDlObservation> observations);

double predict_adaptdl(const AdaptDlParameters& parameters, double nodes, double workers,
                       double local_batch);

}  // namespace scavenger::perfmodel
