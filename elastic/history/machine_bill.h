// What the machines of a job cost, from their facts: each is charged by the second from ready to
// its end, and for its minimum in any case. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "elastic/events/event.h"

namespace scavenger::elastic {

// What is charged for a machine that has been there for so long.
double machine_cost(double price_per_hour, double seconds, double minimum_seconds);

class MachineBill final {
 public:
  // A process of scavenger-train ended at `time`, however: machines that are not heard of again
  // are not charged any more.
  void suspend(double time);
  void apply(double time, const fact::Machine& machine);

  // Dollars until `time`, which is not before that of the last fact.
  double cost(double time) const;
  // What the same would have cost on machines that are not spot.
  double on_demand_cost(double time) const;
  double cost_per_hour() const;  // of the machines that are there
  bool has_spot() const { return has_spot_; }
  bool is_empty() const { return machines_ == 0; }
  std::uint64_t machines() const { return machines_; }  // that were ready
  std::uint64_t lost() const { return lost_; }

 private:
  struct Line {
    double price_per_hour = 0.0;
    double on_demand_price_per_hour = 0.0;
    double minimum_seconds = 0.0;
    double start_seconds = 0.0;  // from which it is charged
    bool is_suspended = false;
    double suspended_seconds = 0.0;

    double seconds(double time) const;
    double cost(double time) const;
    double on_demand_cost(double time) const;
  };

  std::map<std::string, Line> lines_;  // those that are there, by name
  double closed_cost_ = 0.0;
  double closed_on_demand_cost_ = 0.0;
  bool has_spot_ = false;
  std::uint64_t machines_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace scavenger::elastic
