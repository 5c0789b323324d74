#include "elastic/report/machine_bill.h"

#include <algorithm>

namespace scavenger::elastic {
namespace {

constexpr double kSecondsPerHour = 3600.0;

}  // namespace

double MachineBill::Line::cost(double time) const {
  const double end_seconds = is_suspended ? suspended_seconds : time;
  return price_per_hour * std::max(minimum_seconds, end_seconds - start_seconds) / kSecondsPerHour;
}

void MachineBill::suspend(double time) {
  for (auto& [name, line] : lines_) {
    if (line.is_suspended) continue;
    line.is_suspended = true;
    line.suspended_seconds = time;
  }
}

void MachineBill::apply(double time, const fact::Machine& machine) {
  const auto found = lines_.find(machine.name);
  switch (machine.change) {
    case fact::MachineChange::kReady:
      ++machines_;
      if (found != lines_.end()) {  // taken over from an earlier process: it was charged all along
        found->second.is_suspended = false;
        return;
      }
      lines_[machine.name] = {machine.price_per_hour, machine.minimum_seconds,
                              time - machine.charged_seconds};
      return;
    case fact::MachineChange::kLost:
      ++lost_;
      [[fallthrough]];
    case fact::MachineChange::kReleased:
      if (found == lines_.end()) return;  // it never came
      closed_cost_ += found->second.cost(time);
      lines_.erase(found);
      return;
    default:
      return;
  }
}

double MachineBill::cost(double time) const {
  double sum = closed_cost_;
  for (const auto& [name, line] : lines_) sum += line.cost(time);
  return sum;
}

double MachineBill::cost_per_hour() const {
  double sum = 0.0;
  for (const auto& [name, line] : lines_)
    if (!line.is_suspended) sum += line.price_per_hour;
  return sum;
}

}  // namespace scavenger::elastic
