// The metrics of an evaluation. Pure.
#pragma once

#include <optional>

#include "elastic/events/event.h"
#include "elastic/history/run_numbers.h"

namespace scavenger::elastic {

// Nothing if the job has no such metric.
std::optional<double> metric_of(const fact::Evaluation& evaluation, Metric metric);
void set_metric(fact::Evaluation& evaluation, Metric metric, double value);

// By which metric people follow a job: the target's, else accuracy if there is one, else loss.
Metric followed_metric(const fact::Start& start, const fact::Evaluation& evaluation);

// Whose evaluations people follow: the target's split, else the test data, else any. Null if
// there was no evaluation.
const SplitNumbers* followed_split(const RunNumbers& numbers);

// Whether a model with the value `a` is better than one with `b`. A number is better than none.
bool is_better(Metric metric, std::optional<double> a, std::optional<double> b);

}  // namespace scavenger::elastic
