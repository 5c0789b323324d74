// The port for what watches a job's measurements and has wishes for how it goes on: the search for
// K and B, the rule of the learning rate, the shares of a batch.
//
// An advisor is a function of the events that were logged, and of nothing else, so that a replay of
// the log gives the same advice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elastic/control/controller.h"
#include "elastic/history/run_numbers.h"

namespace scavenger::elastic {

// What an advisor may know of the job beside the event.
struct JobView {
  const RunNumbers& numbers;  // of all events until now
  const Controller& controller;
};

// What an advisor wants, to be carried out in this order.
struct Advice {
  std::vector<RunEvent> events;  // to be logged
  // K and B, with the reason. The learning rate's factor follows from them.
  struct Shape {
    std::uint32_t workers = 0;
    std::uint32_t batch_size = 0;
    std::string reason;
    std::vector<std::uint32_t> dismissed =
        {};                // workers that leave; others take no place of theirs
    bool is_look = false;  // the job is likely to go back soon (ReshapeWanted)
  };
  // Of the machines that are asked for from now on; before the shape is wanted.
  std::optional<std::string> machine_type;
  // In this order, if no zone has one of that type (Fleet::prefer).
  std::vector<std::string> other_types{};
  // Of the next machine that is asked for alone.
  std::optional<std::string> next_machine_type;
  std::optional<bool> spot{};  // whether machines that are asked for from now on are spot machines
  std::optional<Shape> shape;
  std::vector<ControllerEvent> wishes;  // for the controller

  bool is_empty() const {
    return events.empty() && !machine_type && !next_machine_type && !spot && !shape &&
           wishes.empty();
  }
};

// Thread: the event loop's.
class Advisor {
 public:
  virtual ~Advisor() = default;

  // An event of an earlier process of the job, in its order, before anything else.
  virtual void recall(const RunEvent& /*event*/) {}
  // The job begins, or goes on. The configuration was logged, nothing else.
  virtual Advice begin(const JobView& /*job*/) { return {}; }
  // An event was logged. Only measurements are shown before their memberships' next events.
  virtual Advice observe(const RunEvent& event, const JobView& job) = 0;
  // Somebody else has decided on K and B: the user, or a loss that is not made up for.
  virtual Advice overrule(const Advice::Shape& /*shape*/, const JobView& /*job*/) { return {}; }
};

}  // namespace scavenger::elastic
