#include "perfmodel/fit/bounded_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/check.h"

namespace scavenger::perfmodel {
namespace {

void clamp_into(std::vector<double>& x, const Box& box) {
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = std::clamp(x[j], box.low[j], box.high[j]);
}

struct Quadratic {
  std::vector<double> gradient;  // J^T r
  Matrix curvature;              // J^T J
};

Quadratic quadratic_model(const Residuals& residuals) {
  const std::size_t n = residuals.jacobian.columns();
  Quadratic model{std::vector<double>(n, 0.0), Matrix(n, n)};
  for (std::size_t i = 0; i < residuals.values.size(); ++i) {
    const auto row = residuals.jacobian.row(i);
    for (std::size_t j = 0; j < n; ++j) {
      model.gradient[j] += row[j] * residuals.values[i];
      for (std::size_t k = 0; k < n; ++k) model.curvature(j, k) += row[j] * row[k];
    }
  }
  return model;
}

std::vector<bool> held_by_bounds(std::span<const double> x, std::span<const double> gradient,
                                 const Box& box) {
  std::vector<bool> held(x.size());
  for (std::size_t j = 0; j < x.size(); ++j)
    held[j] =
        (x[j] <= box.low[j] && gradient[j] > 0.0) || (x[j] >= box.high[j] && gradient[j] < 0.0);
  return held;
}

// -(A + damping diag A)^-1 g over the free variables, 0 for the held ones.
std::vector<double> damped_step(const Quadratic& model, const std::vector<bool>& held,
                                double damping) {
  std::vector<std::size_t> free;
  for (std::size_t j = 0; j < held.size(); ++j)
    if (!held[j] && model.curvature(j, j) > 0.0) free.push_back(j);
  std::vector<double> step(held.size(), 0.0);
  if (free.empty()) return step;
  Matrix scaled(free.size(), free.size());
  std::vector<double> right(free.size());
  const auto length = [&](std::size_t j) { return std::sqrt(model.curvature(free[j], free[j])); };
  for (std::size_t j = 0; j < free.size(); ++j) {
    right[j] = -model.gradient[free[j]] / length(j);
    for (std::size_t k = 0; k < free.size(); ++k)
      scaled(j, k) = model.curvature(free[j], free[k]) / (length(j) * length(k));
    scaled(j, j) += damping + 1e-13;
  }
  const auto cholesky = Cholesky::of(scaled);
  if (!cholesky) return step;
  const auto solution = cholesky->solve(right);
  for (std::size_t j = 0; j < free.size(); ++j) step[free[j]] = solution[j] / length(j);
  return step;
}

double sum_of_squares(const Residuals& residuals) {
  return dot(residuals.values, residuals.values);
}

}  // namespace

BoundedFit fit_in_box(const std::function<Residuals(std::span<const double>)>& residuals,
                      std::vector<double> start, const Box& box) {
  constexpr int kMostSteps = 100;
  constexpr int kMostTrials = 12;
  constexpr double kSmallestGain = 1e-9;  // relative; residuals are in units of their errors
  const auto promised_least = [](double sum) { return kSmallestGain * (sum + kSmallestGain); };
  clamp_into(start, box);
  std::vector<double> x = std::move(start);
  Residuals here = residuals(x);
  double error = sum_of_squares(here);
  double damping = 1e-3;
  std::vector<bool> held(x.size());
  for (int steps = 0; steps < kMostSteps; ++steps) {
    const Quadratic model = quadratic_model(here);
    held = held_by_bounds(x, model.gradient, box);
    double gain = -1.0;
    for (int trial = 0; trial < kMostTrials && gain < 0.0; ++trial) {
      std::vector<double> next = damped_step(model, held, damping);
      if (-dot(model.gradient, next) <= promised_least(error)) {  // at the minimum, or nearly
        gain = 0.0;
        break;
      }
      for (std::size_t j = 0; j < x.size(); ++j) next[j] += x[j];
      clamp_into(next, box);
      Residuals there = residuals(next);
      const double next_error = sum_of_squares(there);
      if (std::isfinite(next_error) && next_error < error) {
        gain = error - next_error;
        x = std::move(next);
        here = std::move(there);
        error = next_error;
        damping = std::max(damping / 5.0, 1e-12);
      } else {
        damping = std::min(damping * 4.0, 1e12);
      }
    }
    if (gain <= promised_least(error)) break;
  }
  held = held_by_bounds(x, quadratic_model(here).gradient, box);
  return {std::move(x), error, std::move(here.jacobian), std::move(held)};
}

namespace {

// One run of Nelder and Mead's method with the usual coefficients 1, 2, 1/2, 1/2.
class Simplex final {
 public:
  Simplex(const std::function<double(std::span<const double>)>& function, const Box& box,
          const std::vector<double>& start)
      : function_(function), box_(box) {
    const std::size_t n = start.size();
    corners_.push_back(evaluate(start));
    for (std::size_t j = 0; j < n; ++j) {
      std::vector<double> x = start;
      const double stride = x[j] != 0.0 ? 0.2 * std::abs(x[j]) : 1e-3;
      x[j] += x[j] + stride <= box.high[j] ? stride : -stride;
      corners_.push_back(evaluate(std::move(x)));
    }
  }

  std::vector<double> run(int most_steps) {
    for (int step = 0; step < most_steps; ++step) {
      std::sort(corners_.begin(), corners_.end(),
                [](const Corner& a, const Corner& b) { return a.value < b.value; });
      if (corners_.back().value - corners_.front().value <=
          1e-12 * (std::abs(corners_.front().value) + 1e-12))
        break;
      advance();
    }
    return std::min_element(corners_.begin(), corners_.end(),
                            [](const Corner& a, const Corner& b) { return a.value < b.value; })
        ->x;
  }

 private:
  struct Corner {
    std::vector<double> x;
    double value = 0.0;
  };

  Corner evaluate(std::vector<double> x) const {
    clamp_into(x, box_);
    const double value = function_(x);
    return {std::move(x), value};
  }

  // The point at centre + factor (worst - centre).
  Corner along(const std::vector<double>& centre, double factor) const {
    std::vector<double> x(centre.size());
    for (std::size_t j = 0; j < x.size(); ++j)
      x[j] = centre[j] + factor * (corners_.back().x[j] - centre[j]);
    return evaluate(std::move(x));
  }

  void advance() {
    const std::size_t n = corners_.size() - 1;
    std::vector<double> centre(n, 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) centre[j] += corners_[i].x[j] / static_cast<double>(n);
    Corner& worst = corners_.back();
    Corner reflected = along(centre, -1.0);
    if (reflected.value < corners_.front().value) {
      Corner expanded = along(centre, -2.0);
      worst = expanded.value < reflected.value ? std::move(expanded) : std::move(reflected);
    } else if (reflected.value < corners_[n - 1].value) {
      worst = std::move(reflected);
    } else {
      Corner contracted = along(centre, reflected.value < worst.value ? -0.5 : 0.5);
      if (contracted.value < std::min(reflected.value, worst.value))
        worst = std::move(contracted);
      else
        shrink();
    }
  }

  void shrink() {
    for (std::size_t i = 1; i < corners_.size(); ++i) {
      std::vector<double> x = corners_[i].x;
      for (std::size_t j = 0; j < x.size(); ++j) x[j] = 0.5 * (x[j] + corners_.front().x[j]);
      corners_[i] = evaluate(std::move(x));
    }
  }

  const std::function<double(std::span<const double>)>& function_;
  const Box& box_;
  std::vector<Corner> corners_;
};

}  // namespace

std::vector<double> minimise_in_box(const std::function<double(std::span<const double>)>& function,
                                    std::vector<double> start, const Box& box) {
  constexpr int kMostRestarts = 20;
  const int steps = 400 * static_cast<int>(start.size());
  clamp_into(start, box);
  double value = function(start);
  for (int restart = 0; restart < kMostRestarts; ++restart) {
    start = Simplex(function, box, start).run(steps);
    const double next = function(start);
    if (value - next <= 1e-9 * std::abs(next)) break;
    value = next;
  }
  return start;
}

}  // namespace scavenger::perfmodel
