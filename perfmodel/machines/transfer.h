// What earlier jobs teach about a new one: a linear regression whose coefficients differ from job
// to job, with the mean and the covariance of the coefficients learned from the jobs.
//
//   y_i = x_i . w_j + noise,   w_j ~ N(w, S)     for each row i of job j
//
// w, S and the noise are found by expectation maximisation (Laird and Ware 1982, random effects),
// S with an inverse Wishart prior whose scale is chosen by the likelihood of jobs that were held
// out. A new job starts at N(w, S); each row that is measured of it narrows that. Jobs may have
// different rows. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "perfmodel/fit/matrix.h"

namespace scavenger::perfmodel {

// Rows of one job: features (the first is the constant 1), and what was measured.
struct TransferJob {
  Matrix features;
  std::vector<double> values;
  std::size_t group = 0;  // jobs of one group are alike and are held out together
};

struct TransferOptions {
  // Standard deviations between jobs, a priori: of the first coefficient, and of the others. The
  // others' is chosen among these by held-out likelihood if there are several.
  double intercept_spread = 1.0;
  std::vector<double> spreads{0.05, 0.15, 0.4};
  double prior_degrees = 3.0;  // what the prior of S weighs, in jobs
  double noise = 0.03;         // standard deviation of a row, a priori; weighs two rows
  int steps = 25;              // of expectation maximisation
  // Rows of a held-out job that are known when its likelihood is taken, spread over its rows.
  std::size_t probes = 2;
};

// Mean and variance of one value that has not been measured, its own noise included.
struct TransferPrediction {
  double mean = 0.0;
  double variance = 0.0;
};

// Coefficients of one job.
class TransferPosterior final {
 public:
  TransferPosterior(std::vector<double> mean, Matrix covariance, double noise_variance);

  TransferPrediction predict(std::span<const double> features) const;
  // Of the values of two rows, their noise not included.
  double covariance(std::span<const double> a, std::span<const double> b) const;
  const std::vector<double>& mean() const { return mean_; }
  const Matrix& coefficient_covariance() const { return covariance_; }
  double noise_variance() const { return noise_variance_; }

 private:
  std::vector<double> mean_;
  Matrix covariance_;
  double noise_variance_;
};

class Transfer final {
 public:
  // Throws DataError if there is no job with rows, or jobs differ in the number of features.
  explicit Transfer(std::span<const TransferJob> jobs, const TransferOptions& options = {});

  // A job of which these rows were measured (none: the prior).
  TransferPosterior after(const Matrix& features, std::span<const double> values) const;
  TransferPosterior prior() const;

  std::size_t jobs() const { return jobs_; }
  double spread() const { return spread_; }  // the one that was chosen

 private:
  void learn(std::span<const TransferJob* const> jobs, const TransferOptions& options,
             double spread);

  std::size_t jobs_ = 0;
  double spread_ = 0.0;
  std::vector<double> mean_;
  Matrix covariance_;
  double noise_variance_ = 0.0;
};

// Mean ln density of a job's rows under a transfer that has not seen the job, after so many of its
// rows (0: none), which are the first, the last, and in equal steps between them.
double held_out_score(const Transfer& transfer, const TransferJob& job, std::size_t probes);

}  // namespace scavenger::perfmodel
