// Choosing a configuration among candidates whose time and cost are known or predicted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perfmodel/time/observation.h"
#include "runtime/vocabulary/policy.h"

namespace scavenger::perfmodel {

struct Candidate {
  Configuration configuration;
  double seconds = 0.0;
  double cost = 0.0;            // dollars
  double relative_error = 0.0;  // standard error of ln(seconds) against the others'; 0: exact
};

// Throws ConfigError that names the policies there are.
Policy parse_policy(std::string_view name);

// Everything unset allows everything.
struct Constraints {
  std::optional<double> max_seconds{};
  std::optional<double> max_cost{};
  std::optional<double> min_workers{};
  std::optional<double> max_workers{};
  std::optional<double> min_batch{};        // of B
  std::optional<double> max_batch{};        // of B
  std::optional<double> max_local_batch{};  // what a worker's memory holds: ceil(B / K)
  std::vector<double> allowed_workers{};    // empty: all
  std::vector<double> allowed_batches{};    // of B; empty: all
};

struct Choice {
  std::size_t index = 0;  // into the candidates
  std::string reason;     // "knee of the Pareto set by Kneedle", for people
};

// No candidate satisfies all constraints.
struct Infeasible {
  // Those that stand in the way, by name ("max_cost"): dropping any one of them, alone, would leave
  // a candidate; where no single one would, all that no candidate satisfies or that conflict.
  std::vector<std::string> binding;
  std::size_t nearest = 0;  // the candidate that violates least, in sum of relative excesses
  std::string message;      // one sentence with both
};

struct Decision {
  std::optional<Choice> choice;
  std::optional<Infeasible> infeasible;  // set where choice is not
};

// Requires candidates. Ties go to the cheaper, then the faster, then the first.
Decision choose(std::span<const Candidate> candidates, Policy policy,
                const Constraints& constraints = {});

// Candidates that no other beats in both time and cost, fastest first. Of equal ones, the first.
std::vector<std::size_t> pareto_set(std::span<const Candidate> candidates);

// Whether to leave a configuration for a better one.
struct Move {
  double stay_seconds = 0.0;  // rest of the job, staying
  double stay_cost = 0.0;
  double move_seconds = 0.0;  // rest of the job, having moved
  double move_cost = 0.0;
  double resize_seconds = 0.0;  // what moving itself takes: pause, and VMs that wait
  double resize_cost = 0.0;
};

// True where the policy's objective (time, cost; for the knee their product) falls by more than
// `margin` (0.05: 5 %), the resize charged.
bool worth_moving(const Move& move, Policy policy, double margin);

}  // namespace scavenger::perfmodel
