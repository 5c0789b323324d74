// Advises on K and B if they are searched for (elastic/search/search.h).
#pragma once

#include <optional>
#include <utility>

#include "elastic/coordinator/advice/advisor.h"
#include "elastic/search/search.h"

namespace scavenger::elastic {

class SearchAdvisor final : public Advisor {
 public:
  explicit SearchAdvisor(SearchSetting setting) : setting_(std::move(setting)) {}

  // Ends a search that was resumed with another K or B than it had sought, unless the job was
  // killed before its last step was carried out.
  Advice begin(const JobView& job) override;
  Advice observe(const RunEvent& event, const JobView& job) override;
  Advice overrule(const Advice::Shape& shape, const JobView& job) override;

 private:
  // What carries out the step, if that is not wanted already.
  std::optional<Advice::Shape> unless_wanted(const fact::SearchStep& step,
                                             const Controller& controller) const;

  const SearchSetting setting_;
  bool was_cut_off_ = false;  // the last step of an earlier process is still to be carried out
};

}  // namespace scavenger::elastic
