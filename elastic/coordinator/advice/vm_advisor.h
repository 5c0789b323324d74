// Advises on the machine type if it is searched for (elastic/vms/race/vm_race.h).
#pragma once

#include <utility>

#include "elastic/coordinator/advice/advisor.h"
#include "elastic/vms/race/vm_race_setting.h"

namespace scavenger::elastic {

class VmAdvisor final : public Advisor {
 public:
  explicit VmAdvisor(VmRaceSetting setting) : setting_(std::move(setting)) {}

  // Says with which type the job begins; gives up an audition that a resume interrupted.
  Advice begin(const JobView& job) override;
  Advice observe(const RunEvent& event, const JobView& job) override;
  Advice overrule(const Advice::Shape& shape, const JobView& job) override;

 private:
  const VmRaceSetting setting_;
};

}  // namespace scavenger::elastic
