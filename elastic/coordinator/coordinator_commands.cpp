// The coordinator's part that does what people ask for while the job runs.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "elastic/coordinator/coordinator.h"
#include "elastic/history/evaluation_metric.h"
#include "ps/shm/segment.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

[[noreturn]] void refuse_request(std::string what, std::string remedy) {
  throw InputError({.what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

// By the metric that people follow; null where there was none yet.
nlohmann::json last_evaluation(const RunNumbers& numbers) {
  const SplitNumbers* const split = followed_split(numbers);
  if (split == nullptr) return nullptr;
  const fact::Evaluation& last = split->last.fact;
  const Metric metric = followed_metric(numbers.start, last);
  return {{"metric", name_of(metric)},
          {"split", name_of(last.split)},
          {"value", metric_of(last, metric).value_or(std::nan(""))},
          {"iteration", last.iteration}};
}

}  // namespace

nlohmann::json Coordinator::obey(const JobCommand& command) {
  return std::visit([this](const auto& one) { return obey_one(one); }, command);
}

nlohmann::json Coordinator::obey_one(const command::Status&) {
  const Membership& membership = controller_.membership();
  const std::uint64_t done = controller_.iterations_done();
  return {{"name", start_.config.name},
          {"state", controller_.state_name()},
          {"iteration", done},
          {"epoch", static_cast<double>(membership.position_at(done)) /
                        static_cast<double>(data_.train_samples)},
          {"workers", membership.workers()},
          {"batch_size", membership.batch_size},
          {"shares", membership.shares},
          {"membership_epoch", membership.epoch},
          {"wanted_workers", controller_.wanted_workers()},
          {"wanted_batch_size", controller_.wanted_batch_size()},
          {"seconds", record_.now()},
          {"pid", ::getpid()},
          {"started_utc", record_.numbers().start.utc},
          {"cost_dollars", record_.numbers().cost},
          {"evaluation", last_evaluation(record_.numbers())}};
}

nlohmann::json Coordinator::obey_one(const command::Resize& resize) {
  const std::uint32_t workers = resize.workers.value_or(controller_.wanted_workers());
  const std::uint32_t batch_size = resize.batch_size.value_or(controller_.wanted_batch_size());
  if (workers > ps::kMostWorkers)
    refuse_request(fmt::format("{} workers are too many", workers),
                   fmt::format("at most {}", ps::kMostWorkers));
  if (batch_size < workers)
    refuse_request(fmt::format("a batch of {} is too small for {} workers", batch_size, workers),
                   "give each worker a sample at least");
  if (batch_size > data_.train_samples)
    refuse_request(fmt::format("a batch of {} is larger than the data set", batch_size),
                   fmt::format("at most {}", data_.train_samples));
  const std::string reason =
      fmt::format("resized by the user to K = {}, B = {}", workers, batch_size);
  end_search(workers, batch_size, reason);
  want(workers, batch_size, reason);
  return {{"workers", workers}, {"batch_size", batch_size}};
}

nlohmann::json Coordinator::obey_one(const command::Checkpoint&) {
  feed_later(CheckpointWanted{});
  return {{"iteration", controller_.iterations_done()}};
}

nlohmann::json Coordinator::obey_one(const command::Pause& pause) {
  feed_later(PauseWanted{pause.pauses});
  return {{"paused", pause.pauses}};
}

nlohmann::json Coordinator::obey_one(const command::Stop&) {
  asio::post(io_, [this] { interrupt("scavenger-ctl"); });
  return {{"stops", true}};
}

}  // namespace scavenger::elastic
