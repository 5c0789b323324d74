#include "runtime/worker/worker_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/random.h"
#include "runtime/config/learning_rate.h"

namespace scavenger {
namespace {

constexpr double kReportSeconds = 0.05;

}  // namespace

WorkerLoop::WorkerLoop(Parts parts, const JobConfig& config, std::uint64_t samples_per_epoch,
                       Membership membership, std::uint32_t rank, Report report)
    : parts_(parts),
      optimizer_(config.optimizer),
      seed_(config.seed),
      samples_per_epoch_(samples_per_epoch),
      membership_(std::move(membership)),
      rank_(rank),
      report_(std::move(report)),
      iteration_(membership_.first_iteration),
      last_report_seconds_(parts.clock.now_seconds()) {}

WorkerIteration WorkerLoop::next_iteration() const {
  return {iteration_, rank_, membership_.workers(), membership_.batch_size,
          membership_.shares[rank_]};
}

bool WorkerLoop::run_iteration() {
  if (!begin_seconds_) begin_seconds_ = parts_.clock.now_seconds();
  aside_seconds_ = 0.0;
  const LoadedBatch loaded = parts_.loader.next();
  parts_.trainer.use_weights(parts_.synchroniser.weights());
  const std::uint64_t random_key = RandomStream(seed_, "iteration", {iteration_, rank_}).bits();
  Measured measured{.iteration = iteration_};
  try {
    measured.half_batch = probe(loaded.batch, random_key);
    parts_.synchroniser.begin(iteration_);
    measured.step = parts_.trainer.forward_backward(
        loaded.batch, random_key, [this](std::uint64_t first, std::uint64_t last) {
          parts_.synchroniser.gradient_ready(first, last);
        });
  } catch (const JobError& error) {
    throw JobError({.what = error.problem().what,
                    .where = fmt::format("iteration {}", iteration_),
                    .remedy = error.problem().remedy});
  }
  complete_late();
  const auto sync = parts_.synchroniser.finish();
  if (!sync) {
    begin_seconds_.reset();
    return false;
  }
  measured.sync = *sync;
  measured.data_wait_seconds = loaded.wait_seconds + measured.step.data_wait_seconds;
  last_pass_seconds_ = measured.step.forward_seconds + measured.step.backward_seconds;
  const double end_seconds = parts_.clock.now_seconds();
  measured.seconds = end_seconds - *begin_seconds_ - aside_seconds_;
  begin_seconds_ = end_seconds;
  ++iteration_;
  if (measured.sync.is_late)
    late_ = std::move(measured);
  else
    note(std::move(measured));
  if (end_seconds - last_report_seconds_ >= kReportSeconds) report(end_seconds);
  return true;
}

void WorkerLoop::complete_late() {
  if (!late_) return;
  Measured measured = *std::exchange(late_, std::nullopt);
  measured.sync = parts_.synchroniser.late_result();
  note(std::move(measured));
}

void WorkerLoop::note(Measured measured) {
  if (stats_.loss_sum.empty()) {
    stats_.first = measured.iteration;
    stats_.learning_rate =
        learning_rate_at(optimizer_, membership_, samples_per_epoch_, measured.iteration);
  }
  stats_.loss_sum.push_back(measured.step.loss_sum);
  stats_.data_wait_seconds.push_back(measured.data_wait_seconds);
  stats_.forward_seconds.push_back(measured.step.forward_seconds);
  stats_.backward_seconds.push_back(measured.step.backward_seconds);
  stats_.sync_wait_seconds.push_back(measured.sync.wait_seconds);
  stats_.local_sqr_norm.push_back(measured.sync.local_gradient_sqr_norm);
  stats_.global_sqr_norm.push_back(measured.sync.global_gradient_sqr_norm);
  stats_.seconds.push_back(measured.seconds);
  if (measured.half_batch) stats_.half_batches.push_back(*std::move(measured.half_batch));
}

std::optional<HalfBatchNorms> WorkerLoop::probe(const Batch& batch, std::uint64_t random_key) {
  if (parts_.probe == nullptr || batch.size < 2 ||
      !parts_.probe->is_due(iteration_, last_pass_seconds_))
    return std::nullopt;
  HalfBatchNorms norms =
      parts_.probe->measure(batch, iteration_, random_key, parts_.synchroniser.gradients());
  aside_seconds_ = norms.seconds;
  return norms;
}

void WorkerLoop::flush() {
  begin_seconds_.reset();
  complete_late();
  report(parts_.clock.now_seconds());
}

void WorkerLoop::report(double now_seconds) {
  last_report_seconds_ = now_seconds;
  if (!stats_.loss_sum.empty()) report_(std::exchange(stats_, {}));
}

std::optional<Evaluated> evaluate_range(Trainer& trainer, BatchAssembler& assembler,
                                        const Evaluate& request,
                                        const std::function<bool()>& interrupted) {
  Evaluated total;
  Batch batch;
  for (std::uint64_t first = request.first; first < request.last; first += request.batch_size) {
    if (interrupted()) return std::nullopt;
    const auto size = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(request.batch_size, request.last - first));
    assembler.assemble(BatchPlace::whole(first, size), batch);
    total.sums += trainer.evaluate(batch);
  }
  return total;
}

}  // namespace scavenger
