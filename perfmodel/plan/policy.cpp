#include "perfmodel/plan/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <tuple>

#include "perfmodel/plan/knee.h"
#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/text.h"

namespace scavenger::perfmodel {
namespace {

// One constraint that was set, as the relative excess of a candidate over it: 0 is satisfied.
struct Rule {
  std::string name;
  std::function<double(const Candidate&)> excess;
};

double above(double value, double limit) {
  return value <= limit ? 0.0 : limit > 0.0 ? value / limit - 1.0 : value;
}
double below(double value, double limit) {
  return value >= limit ? 0.0 : limit / value - 1.0;
}
double off(double value, const std::vector<double>& allowed) {
  double nearest = std::abs(value / allowed.front() - 1.0);
  for (const double a : allowed) nearest = std::min(nearest, std::abs(value / a - 1.0));
  return nearest;
}

std::vector<Rule> rules_of(const Constraints& c) {
  std::vector<Rule> rules;
  const auto add = [&](const char* name, std::function<double(const Candidate&)> excess) {
    rules.push_back({name, std::move(excess)});
  };
  const auto at_most = [&](const char* name, std::optional<double> limit, auto value) {
    if (limit)
      add(name, [=](const Candidate& candidate) { return above(value(candidate), *limit); });
  };
  const auto at_least = [&](const char* name, std::optional<double> limit, auto value) {
    if (limit)
      add(name, [=](const Candidate& candidate) { return below(value(candidate), *limit); });
  };
  const auto one_of = [&](const char* name, const std::vector<double>& allowed, auto value) {
    if (!allowed.empty())
      add(name, [=](const Candidate& candidate) { return off(value(candidate), allowed); });
  };
  const auto workers = [](const Candidate& x) { return x.configuration.workers; };
  const auto batch = [](const Candidate& x) { return x.configuration.global_batch; };
  at_most("max_seconds", c.max_seconds, [](const Candidate& x) { return x.seconds; });
  at_most("max_cost", c.max_cost, [](const Candidate& x) { return x.cost; });
  at_least("min_workers", c.min_workers, workers);
  at_most("max_workers", c.max_workers, workers);
  at_least("min_batch", c.min_batch, batch);
  at_most("max_batch", c.max_batch, batch);
  at_most("max_local_batch", c.max_local_batch,
          [](const Candidate& x) { return std::ceil(x.configuration.local_batch() - 1e-9); });
  one_of("allowed_workers", c.allowed_workers, workers);
  one_of("allowed_batches", c.allowed_batches, batch);
  return rules;
}

bool satisfies(const Candidate& candidate, std::span<const Rule> rules, const Rule* dropped) {
  return std::all_of(rules.begin(), rules.end(), [&](const Rule& rule) {
    return &rule == dropped || rule.excess(candidate) <= 0.0;
  });
}

std::string describe(const Candidate& candidate) {
  return fmt::format("K = {}, B = {} ({}, ${:.2f})", candidate.configuration.workers,
                     candidate.configuration.global_batch, format_duration(candidate.seconds),
                     candidate.cost);
}

std::vector<std::string> binding_rules(std::span<const Candidate> candidates,
                                       std::span<const Rule> rules) {
  std::vector<std::string> alone, impossible, all;
  for (const Rule& rule : rules) {
    const auto any = [&](auto test) {
      return std::any_of(candidates.begin(), candidates.end(), test);
    };
    if (any([&](const Candidate& c) { return satisfies(c, rules, &rule); }))
      alone.push_back(rule.name);
    if (!any([&](const Candidate& c) { return rule.excess(c) <= 0.0; }))
      impossible.push_back(rule.name);
    if (any([&](const Candidate& c) { return rule.excess(c) > 0.0; })) all.push_back(rule.name);
  }
  return !alone.empty() ? alone : !impossible.empty() ? impossible : all;
}

Infeasible explain(std::span<const Candidate> candidates, std::span<const Rule> rules) {
  Infeasible result;
  result.binding = binding_rules(candidates, rules);
  double least = 0.0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    double excess = 0.0;
    for (const Rule& rule : rules) excess += rule.excess(candidates[i]);
    if (i == 0 || excess < least) {
      least = excess;
      result.nearest = i;
    }
  }
  result.message =
      fmt::format("no configuration satisfies the constraints: {} {} in the way; the nearest is {}",
                  join_words(result.binding), result.binding.size() == 1 ? "stands" : "stand",
                  describe(candidates[result.nearest]));
  return result;
}

std::size_t smallest(std::span<const Candidate> candidates, std::span<const std::size_t> among,
                     const std::function<std::pair<double, double>(const Candidate&)>& order) {
  return *std::min_element(among.begin(), among.end(), [&](std::size_t a, std::size_t b) {
    return order(candidates[a]) < order(candidates[b]);
  });
}

Choice choose_knee(std::span<const Candidate> candidates, std::span<const std::size_t> feasible) {
  std::vector<Candidate> some;
  for (const std::size_t i : feasible) some.push_back(candidates[i]);
  const auto front = pareto_set(some);
  std::vector<double> seconds, cost, errors;
  for (const std::size_t i : front) {
    seconds.push_back(some[i].seconds);
    cost.push_back(some[i].cost);
    errors.push_back(some[i].relative_error);
  }
  if (const auto knee = cost_time_knee(seconds, cost, errors)) {
    std::string reason = knee->by_kneedle ? "knee of the Pareto set, by Kneedle"
                                          : "point of the Pareto set farthest below its chord";
    if (!knee->was_certain)
      reason = "smallest time x cost of the points that the errors leave as knees";
    return {feasible[front[knee->index]], reason};
  }
  // Too few points, or a front without a bend.
  const std::size_t balanced = smallest(candidates, feasible, [](const Candidate& c) {
    return std::pair(c.seconds * c.cost, c.seconds);
  });
  return {balanced, "smallest time x cost, since the Pareto set has no knee"};
}

}  // namespace

Policy parse_policy(std::string_view name) {
  if (const auto found = find_word<Policy>(name)) return *found;
  std::vector<std::string> names;
  for (const auto& known : kPolicies) names.emplace_back(known.name);
  throw ConfigError({.what = fmt::format("there is no policy \"{}\"", name),
                     .where = "policy",
                     .remedy = fmt::format("use one of {}", join_words(names))});
}

std::vector<std::size_t> pareto_set(std::span<const Candidate> candidates) {
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(candidates[a].seconds, candidates[a].cost) <
           std::tie(candidates[b].seconds, candidates[b].cost);
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : order)
    if (front.empty() || candidates[i].cost < candidates[front.back()].cost) front.push_back(i);
  return front;
}

Decision choose(std::span<const Candidate> candidates, Policy policy,
                const Constraints& constraints) {
  SCAVENGER_CHECK(!candidates.empty());
  const auto rules = rules_of(constraints);
  std::vector<std::size_t> feasible;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (satisfies(candidates[i], rules, nullptr)) feasible.push_back(i);
  if (feasible.empty()) return {std::nullopt, explain(candidates, rules)};
  switch (policy) {
    case Policy::kMinimumTime:
      return {Choice{smallest(candidates, feasible,
                              [](const Candidate& c) { return std::pair(c.seconds, c.cost); }),
                     "smallest time"},
              std::nullopt};
    case Policy::kMinimumCost:
      return {Choice{smallest(candidates, feasible,
                              [](const Candidate& c) { return std::pair(c.cost, c.seconds); }),
                     "smallest cost"},
              std::nullopt};
    case Policy::kKnee:
      break;
  }
  return {choose_knee(candidates, feasible), std::nullopt};
}

bool worth_moving(const Move& move, Policy policy, double margin) {
  const double seconds = move.move_seconds + move.resize_seconds;
  const double cost = move.move_cost + move.resize_cost;
  switch (policy) {
    case Policy::kMinimumTime:
      return seconds < (1.0 - margin) * move.stay_seconds;
    case Policy::kMinimumCost:
      return cost < (1.0 - margin) * move.stay_cost;
    case Policy::kKnee:
      break;
  }
  return seconds * cost < (1.0 - margin) * move.stay_seconds * move.stay_cost;
}

}  // namespace scavenger::perfmodel
