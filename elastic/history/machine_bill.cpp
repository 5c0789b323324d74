#include "elastic/history/machine_bill.h"

#include <algorithm>

namespace scavenger::elastic {
namespace {

constexpr double kSecondsPerHour = 3600.0;

}  // namespace

double machine_cost(double price_per_hour, double seconds, double minimum_seconds) {
  return price_per_hour * std::max(minimum_seconds, seconds) / kSecondsPerHour;
}

double MachineBill::Line::seconds(double time) const {
  return (is_suspended ? suspended_seconds : time) - start_seconds;
}

double MachineBill::Line::cost(double time) const {
  return machine_cost(price_per_hour, seconds(time), minimum_seconds);
}

double MachineBill::Line::on_demand_cost(double time) const {
  return machine_cost(on_demand_price_per_hour, seconds(time), minimum_seconds);
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
      has_spot_ = has_spot_ || machine.spot;
      lines_[machine.name] = {.price_per_hour = machine.price_per_hour,
                              .on_demand_price_per_hour = machine.on_demand_price_per_hour,
                              .minimum_seconds = machine.minimum_seconds,
                              .start_seconds = time - machine.charged_seconds};
      return;
    case fact::MachineChange::kLost:
      ++lost_;
      [[fallthrough]];
    case fact::MachineChange::kReleased:
      if (found == lines_.end()) return;  // it never came
      closed_cost_ += found->second.cost(time);
      closed_on_demand_cost_ += found->second.on_demand_cost(time);
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

double MachineBill::on_demand_cost(double time) const {
  double sum = closed_on_demand_cost_;
  for (const auto& [name, line] : lines_) sum += line.on_demand_cost(time);
  return sum;
}

double MachineBill::cost_per_hour() const {
  double sum = 0.0;
  for (const auto& [name, line] : lines_)
    if (!line.is_suspended) sum += line.price_per_hour;
  return sum;
}

}  // namespace scavenger::elastic
