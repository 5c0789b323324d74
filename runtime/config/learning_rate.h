// The learning-rate schedule. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/config/job_config.h"
#include "runtime/training/membership.h"

namespace scavenger {

// Returns the learning rate after `epochs` passes over the training data, fractions included
// (iteration t, counted from 0, of a job with N samples and global batch B is at t B / N). With
// base rate r and warm-up time w:
//   epochs < w    r epochs / w                                   (Goyal et al., 2017, 2.2: gradual)
//   constant      r
//   step          r factor^n, n the number of boundaries <= epochs
//   cosine        r (f + (1 - f) (1 + cos(pi p)) / 2), p = (epochs - w) / (total - w) up to 1,
//                 f the final fraction        (Loshchilov and Hutter, 2017, eq. 5, one cycle)
//   inverse_sqrt  r sqrt(w / epochs)                            (Vaswani et al., 2017, eq. 3)
double learning_rate(const OptimizerConfig& optimizer, double epochs);

// Returns the learning rate of an iteration: the schedule's at its position, times the membership's
// factor for its batch size. All who need it call this, since they must agree to the bit.
double learning_rate_at(const OptimizerConfig& optimizer, const Membership& membership,
                        std::uint64_t samples_per_epoch, std::uint64_t iteration);

// Returns the factor of the learning rate for a batch of B if the rate was chosen for another, B_0:
//   none    1           (Scavenger)
//   linear  B / B_0     (Goyal et al., 2017)
//   sqrt    sqrt(B / B_0)   (Krizhevsky, 2014; Hoffer et al., 2017)
//   adascale    r = (B / B_0) (B_0 + B_s) / (B + B_s)   (Johnson et al., 2020; with the noise scale
//           B_s as in Pollux, Qiao et al., 2021), which is between 1 and B / B_0; for Adam and
//           AdamW sqrt(r). Where B_s is not known, r = sqrt(B / B_0), which lies between the two.
// `noise_scale`: B_s in samples, 0 to infinity; only adascale uses it.
double batch_size_factor(const OptimizerConfig& optimizer, std::uint32_t batch_size,
                         std::optional<double> noise_scale = std::nullopt);

}  // namespace scavenger
