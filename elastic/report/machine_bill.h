// What the machines of a job cost, from their facts: each is charged by the second from ready to
// its end, and for its minimum in any case. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "elastic/report/event.h"

namespace scavenger::elastic {

class MachineBill final {
 public:
  // A process of scavenger-train ended at `time`, however: machines that are not heard of again
  // are not charged any more.
  void suspend(double time);
  void apply(double time, const fact::Machine& machine);

  // Dollars until `time`, which is not before that of the last fact.
  double cost(double time) const;
  double cost_per_hour() const;  // of the machines that are there
  bool is_empty() const { return machines_ == 0; }
  std::uint64_t machines() const { return machines_; }  // that were ready
  std::uint64_t lost() const { return lost_; }

 private:
  struct Line {
    double price_per_hour = 0.0;
    double minimum_seconds = 0.0;
    double start_seconds = 0.0;  // from which it is charged
    bool is_suspended = false;
    double suspended_seconds = 0.0;

    double cost(double time) const;
  };

  std::map<std::string, Line> lines_;  // those that are there, by name
  double closed_cost_ = 0.0;
  std::uint64_t machines_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace scavenger::elastic
