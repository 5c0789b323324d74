#include "perfmodel/machines/transfer.h"

#include <catch2/catch.hpp>
#include <random>

#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

// y = w0 + w1 x: w0 differs widely between jobs, w1 = 2 by `spread`.
TransferJob job_of(std::mt19937& random, double spread, std::size_t rows, std::size_t group) {
  std::normal_distribution<double> normal;
  const double level = 3.0 * normal(random), slope = 2.0 + spread * normal(random);
  TransferJob job{Matrix(rows, 2), {}, group};
  for (std::size_t i = 0; i < rows; ++i) {
    const double x = static_cast<double>(i) / static_cast<double>(rows - 1);
    job.features(i, 0) = 1.0;
    job.features(i, 1) = x;
    job.values.push_back(level + slope * x + 0.01 * normal(random));
  }
  return job;
}

std::vector<TransferJob> jobs_of(double spread) {
  std::mt19937 random(7);
  std::vector<TransferJob> jobs;
  for (std::size_t j = 0; j < 20; ++j) jobs.push_back(job_of(random, spread, 6, j));
  return jobs;
}

TEST_CASE("One measurement of a new job and what earlier jobs teach give the rest") {
  const Transfer transfer(jobs_of(0.1), {.intercept_spread = 3.0});
  std::mt19937 random(99);
  int covered = 0;
  constexpr int kJobs = 200;
  for (int j = 0; j < kJobs; ++j) {
    const TransferJob job = job_of(random, 0.1, 2, 0);
    Matrix first(1, 2);
    first(0, 0) = 1.0;
    const TransferPosterior after = transfer.after(first, {&job.values[0], 1});
    const TransferPrediction p = after.predict(job.features.row(1));
    const double error = job.values[1] - p.mean;
    CHECK(std::abs(error) < 0.6);
    covered += error * error < 1.645 * 1.645 * p.variance ? 1 : 0;
  }
  CHECK(covered > 0.83 * kJobs);
  CHECK(covered < 0.98 * kJobs);
}

TEST_CASE("How far jobs differ is learned from them") {
  const auto variance = [](double spread) {
    return Transfer(jobs_of(spread)).prior().coefficient_covariance()(1, 1);
  };
  CHECK(variance(0.03) < 0.03);
  CHECK(variance(0.6) > 0.15);
  CHECK(variance(0.6) < 0.9);
}

TEST_CASE("A measurement narrows a prediction, most where it was made") {
  const Transfer transfer(jobs_of(0.3));
  Matrix at(1, 2);
  at(0, 0) = at(0, 1) = 1.0;
  const std::vector<double> value = {4.0};
  const std::vector<double> far = {1.0, 0.0};
  const double before = transfer.prior().predict(at.row(0)).variance;
  const TransferPosterior after = transfer.after(at, value);
  CHECK(after.predict(at.row(0)).variance < 0.1 * before);
  CHECK(after.predict(at.row(0)).variance < after.predict(far).variance);
}

TEST_CASE("No earlier job is an error that says what to do") {
  CHECK_THROWS_AS(Transfer(std::vector<TransferJob>{}), DataError);
}

}  // namespace
}  // namespace scavenger::perfmodel
