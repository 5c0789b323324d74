// The metrics of an evaluation by their names. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "elastic/events/event.h"
#include "elastic/history/run_numbers.h"

namespace scavenger::elastic {

// Nothing where the job has no such metric.
std::optional<double> metric_of(const fact::Evaluation& evaluation, std::string_view metric);

// By which metric people follow a job: the target's, else accuracy where there is one, else loss.
std::string followed_metric(const fact::Start& start, const fact::Evaluation& evaluation);

// Whose evaluations people follow: the target's split, else the test data, else any. Null where
// there was no evaluation.
const SplitNumbers* followed_split(const RunNumbers& numbers);

// Whether a model with the value `a` is better than one with `b`. A number is better than none.
bool is_better(std::string_view metric, std::optional<double> a, std::optional<double> b);

}  // namespace scavenger::elastic
