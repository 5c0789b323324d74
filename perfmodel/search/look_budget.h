// What a search may spend on a look, and how much that is of what is left of the job, in the terms
// of its policy: time, cost or both. Pure.
#pragma once

#include "perfmodel/search/exploration.h"
#include "perfmodel/search/worthwhile_search.h"

namespace scavenger::perfmodel {

// Until now, in all.
Expense allowed(const SearchSituation& now);

// Whether the budget bears so much in all, once the job has run for so many times as long as now.
bool fits(const SearchSituation& now, const Expense& expense, double times_elapsed = 1.0);

// At the base; as long again as the job has run, if nothing else is known.
double left_seconds(const SearchSituation& now);

// Of the policy's objective of what is left, where the job goes on at the base.
double share_of_left(const SearchSituation& now, const Stay& base, const Expense& cost);

}  // namespace scavenger::perfmodel
