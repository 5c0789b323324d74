// How much further a sample brings the job at one batch than at another, as the curve of the
// training loss tells: measured, where the noise only predicts it.
//
// Epochs at B beside those at B' are taken for law(B) / law(B') (B / B')^d. The law is the noise's
// (epochs_ratio.h). The power d is 0 where noise limits progress, as the law says; up to 1/2 where
// the learning rate limits it (rules that raise it with the square root of B); and below 0 where
// larger batches take fewer epochs, as in the tables of the Scavenger paper. Its prior is a normal
// distribution near 0 with heavy tails. The curve's likelihood is that of
//   loss = cubic(ln u) + o_B,     u = sum of samples (B / B0)^-d law(B0) / law(B),
// profiled over the cubic, and over offsets o_B that are small (the loss settles at another height
// with another batch). So nothing is assumed of the loss but that it is smooth, and what tells of d
// are bends where the batch changes. What it departs from a cubic by widens the result.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace scavenger::perfmodel {

// The mean of some iterations that follow each other, at one batch.
struct LossPoint {
  double global_batch = 0.0;
  double samples = 0.0;
  double loss = 0.0;  // per sample
};

class MeasuredProgress final {
 public:
  // `noise_scale`: B_s of the law 1 + B / B_s. Where there is one batch only, the prior.
  MeasuredProgress(std::span<const LossPoint> losses, double noise_scale);

  // E[e^(x d)].
  double expected(double x) const;
  double mean() const;       // of d
  double deviation() const;  // of d, likewise

  // Standard error of ln(progress of a sample) that so many samples at that batch would leave.
  // Nothing where the loss does not fall visibly: then no visit tells anything.
  std::optional<double> error_after(double samples, double global_batch) const;

 private:
  double noise_scale_ = 0.0;       // B_s
  std::vector<double> weights_;    // of the grid of d; they add up to 1
  double sample_deviation_ = 0.0;  // of one sample's loss
  double slope_ = 0.0;             // by which the loss falls with each sample of the last batch
  double last_batch_ = 0.0;        // 0 where too little was seen
  double wiggle_ = 0.0;            // of the curve, that no number of samples averages out
  double misfit_ = 1.0;            // factor of variances, by which the curve fits badly
};

}  // namespace scavenger::perfmodel
