// The evaluations of a job, one at a time: if the model has buffers, one worker lends its own to
// all, so that all evaluate the same model; then each evaluates its part.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "elastic/control/job_events.h"
#include "elastic/coordinator/work/evaluation_round.h"

namespace scavenger::elastic {

// Thread: the event loop's.
class Evaluations final {
 public:
  using Send = std::function<void(const ProcessName&, const ControlMessage&)>;

  explicit Evaluations(Send send) : send_(std::move(send)) {}

  // `workers`: by rank.
  void begin(EvaluationRound round, std::vector<ProcessName> workers, bool has_buffers);
  // Whether this worker was asked for its buffers to evaluate with.
  bool awaits_buffers_of(const ProcessName& worker) const { return lender_ == worker; }
  // Requires awaits_buffers_of().
  void lend(const ProcessName& worker, const Buffers& buffers);
  // The whole round once the last part has come. Throws ProtocolError as EvaluationRound does.
  std::optional<EvaluationRound> add(std::uint32_t rank, const Evaluated& part);
  // All are being halted: parts that are still on their way do not count.
  void give_up() { round_.reset(); }
  void lose(const ProcessName& worker);

 private:
  void request();

  const Send send_;
  std::optional<EvaluationRound> round_;
  std::vector<ProcessName> workers_;  // of the round, by rank
  std::optional<ProcessName> lender_;
};

}  // namespace scavenger::elastic
