// Advises on K and B if they are searched for (elastic/search/search.h).
#pragma once

#include <utility>

#include "elastic/coordinator/advice/advisor.h"
#include "elastic/search/search.h"

namespace scavenger::elastic {

class SearchAdvisor final : public Advisor {
 public:
  explicit SearchAdvisor(SearchSetting setting) : setting_(std::move(setting)) {}

  // Ends a search that was resumed with another K or B than it had sought.
  Advice begin(const JobView& job) override;
  Advice observe(const RunEvent& event, const JobView& job) override;
  Advice overrule(const Advice::Shape& shape, const JobView& job) override;

 private:
  const SearchSetting setting_;
};

}  // namespace scavenger::elastic
