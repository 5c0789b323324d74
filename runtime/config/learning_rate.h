// The learning-rate schedule. Pure.
#pragma once

#include "runtime/config/job_config.h"

namespace scavenger {

// The learning rate after `epochs` passes over the training data, fractions included (iteration t,
// counted from 0, of a job with N samples and global batch B is at t B / N). With base rate r and
// warm-up time w:
//   epochs < w    r epochs / w                                   (Goyal et al., 2017, 2.2: gradual)
//   constant      r
//   step          r factor^n, n the number of boundaries <= epochs
//   cosine        r (f + (1 - f) (1 + cos(pi p)) / 2), p = (epochs - w) / (total - w) up to 1, f
//   the
//                 final fraction                      (Loshchilov and Hutter, 2017, eq. 5, one
//                 cycle)
double learning_rate(const OptimizerConfig& optimizer, double epochs);

}  // namespace scavenger
