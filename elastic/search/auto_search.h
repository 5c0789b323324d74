// The search that is worth it (mode `auto`): it begins at once, looks at another configuration only
// if that is likely to pay and its budget bears it, and stays where it found better
// (perfmodel/search/worthwhile_search.h).
//
// Pure, and a function of nothing but the events so far, as all of elastic/search is.
#pragma once

#include <vector>

#include "elastic/history/run_numbers.h"
#include "elastic/search/search.h"

namespace scavenger::elastic {

// The first step: it stays as configured for now.
std::vector<RunEvent> begin_auto_search(const SearchSetting& setting, const RunNumbers& numbers);

// Requires that the job has what the last step wanted.
std::vector<RunEvent> continue_auto_search(const SearchSetting& setting, const RunNumbers& numbers);

}  // namespace scavenger::elastic
