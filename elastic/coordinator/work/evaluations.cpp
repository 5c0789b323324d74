#include "elastic/coordinator/work/evaluations.h"

#include <utility>

namespace scavenger::elastic {

void Evaluations::begin(EvaluationRound round, std::vector<ProcessName> workers, bool has_buffers) {
  round_ = std::move(round);
  workers_ = std::move(workers);
  if (!has_buffers) return request();
  lender_ = workers_.front();
  send_(*lender_, SendBuffers{});
}

void Evaluations::lend(const ProcessName& worker, const Buffers& buffers) {
  lender_.reset();
  if (!round_) return;  // it was given up
  for (const ProcessName& each : workers_)
    if (each != worker) send_(each, buffers);
  request();
}

void Evaluations::request() {
  for (std::uint32_t rank = 0; rank < workers_.size(); ++rank)
    send_(workers_[rank], round_->request_for(rank));
}

std::optional<EvaluationRound> Evaluations::add(std::uint32_t rank, const Evaluated& part) {
  if (!round_ || !round_->add(rank, part)) return std::nullopt;
  return std::exchange(round_, std::nullopt);
}

void Evaluations::lose(const ProcessName& worker) {
  if (lender_ == worker) lender_.reset();
}

}  // namespace scavenger::elastic
