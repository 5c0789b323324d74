// The coordinator's part that does what people ask for while the job runs.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "elastic/coordinator/coordinator.h"
#include "elastic/history/evaluation_metric.h"
#include "ps/shm/segment.h"
#include "runtime/base/error.h"
#include "runtime/base/overloaded.h"
#include "runtime/config/build_features.h"
#include "runtime/config/placement.h"
#include "runtime/process/gpus.h"

namespace scavenger::elastic {
namespace {

[[noreturn]] void refuse_request(std::string what, std::string remedy) {
  throw InputError({.what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

// By the metric that people follow; null if there was none yet.
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

nlohmann::json status_of(const std::string& name, std::uint64_t samples_per_epoch,
                         const Controller& controller, const JobRecord& record) {
  const Membership& membership = controller.membership();
  const std::uint64_t done = controller.iterations_done();
  return {{"name", name},
          {"state", controller.state_name()},
          {"iteration", done},
          {"epoch", static_cast<double>(membership.position_at(done)) /
                        static_cast<double>(samples_per_epoch)},
          {"workers", membership.workers()},
          {"batch_size", membership.batch_size},
          {"shares", membership.shares},
          {"membership_epoch", membership.epoch},
          {"wanted_workers", controller.wanted_workers()},
          {"wanted_batch_size", controller.wanted_batch_size()},
          {"seconds", record.now()},
          {"pid", ::getpid()},
          {"started_utc", record.numbers().start.utc},
          {"cost_dollars", record.numbers().cost},
          {"evaluation", last_evaluation(record.numbers())}};
}

// What is not named stays as it is.
// As a job that would begin with so many is refused.
void require_gpus_for(JobConfig config, std::uint32_t workers) {
  if (!runs_here(config) || !needs_gpus(config)) return;
  config.cluster.workers = workers;
  try {
    require_gpus(config, count_gpus());
  } catch (const ConfigError& error) {
    refuse_request(error.problem().what, error.problem().remedy);
  }
}

Advice::Shape shape_of(const command::Resize& resize, const Controller& controller,
                       std::uint64_t train_samples) {
  Advice::Shape shape;
  shape.workers = resize.workers.value_or(controller.wanted_workers());
  shape.batch_size = resize.batch_size.value_or(controller.wanted_batch_size());
  if (shape.workers > ps::kMostWorkers)
    refuse_request(fmt::format("{} workers are too many", shape.workers),
                   fmt::format("at most {}", ps::kMostWorkers));
  if (shape.batch_size < shape.workers)
    refuse_request(
        fmt::format("a batch of {} is too small for {} workers", shape.batch_size, shape.workers),
        "give each worker a sample at least");
  if (shape.batch_size > train_samples)
    refuse_request(fmt::format("a batch of {} is larger than the data set", shape.batch_size),
                   fmt::format("at most {}", train_samples));
  shape.reason =
      fmt::format("resized by the user to K = {}, B = {}", shape.workers, shape.batch_size);
  return shape;
}

}  // namespace

nlohmann::json Coordinator::obey(const JobCommand& command) {
  const Overloaded handlers{
      [&](const command::Status&) {
        return status_of(start_.config.name, data_.train_samples, controller(), record_);
      },
      [&](const command::Resize& resize) {
        const Advice::Shape shape = shape_of(resize, controller(), data_.train_samples);
        require_gpus_for(start_.config, shape.workers);
        for (const auto& advisor : advisors_.all) take(advisor->overrule(shape, view()));
        reshape(shape);
        return nlohmann::json{{"workers", shape.workers}, {"batch_size", shape.batch_size}};
      },
      [&](const command::Checkpoint&) {
        recorded_.feed_later(CheckpointWanted{});
        return nlohmann::json{{"iteration", controller().iterations_done()}};
      },
      [&](const command::Pause& pause) {
        recorded_.feed_later(PauseWanted{pause.pauses});
        return nlohmann::json{{"paused", pause.pauses}};
      },
      [&](const command::Stop&) {
        world_.loop.post([this] { stop_at_boundary("scavenger-ctl"); });
        return nlohmann::json{{"stops", true}};
      }};
  return std::visit(handlers, command);
}

}  // namespace scavenger::elastic
