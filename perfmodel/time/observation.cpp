#include "perfmodel/time/observation.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

[[noreturn]] void refuse(std::size_t index, std::string what, std::string remedy) {
  throw DataError({.what = std::move(what),
                   .where = fmt::format("observation {}", index + 1),
                   .remedy = std::move(remedy)});
}

void require_positive(std::size_t index, std::string_view name, double value) {
  if (!std::isfinite(value) || value <= 0.0)
    refuse(index, fmt::format("{} is {}", name, value),
           "remove the observation, or give a finite number above 0");
}

}  // namespace

void check_observations(std::span<const TimeObservation> observations) {
  for (std::size_t i = 0; i < observations.size(); ++i) {
    const TimeObservation& o = observations[i];
    require_positive(i, "the seconds per iteration", o.seconds);
    require_positive(i, "the number of workers K", o.configuration.workers);
    require_positive(i, "the global batch size B", o.configuration.global_batch);
    if (o.configuration.workers < 1.0)
      refuse(i, fmt::format("K is {}", o.configuration.workers),
             "K is a number of workers: 1 or more");
    if (o.configuration.global_batch < o.configuration.workers)
      refuse(
          i,
          fmt::format("B = {} is smaller than K = {}", o.configuration.global_batch,
                      o.configuration.workers),
          "B is the global batch of all workers together, in samples; was the batch of one worker "
          "given?");
    if (!std::isfinite(o.standard_error) || o.standard_error < 0.0)
      refuse(i, fmt::format("the standard error is {}", o.standard_error),
             "give seconds, 0 where it is not known");
    if (o.standard_error > o.seconds)
      refuse(i,
             fmt::format("the standard error, {} s, is larger than the time itself, {} s",
                         o.standard_error, o.seconds),
             "give both in seconds per iteration, or measure more iterations");
  }
}

void check_observations(std::span<const EpochObservation> observations) {
  for (std::size_t i = 0; i < observations.size(); ++i) {
    require_positive(i, "the number of epochs", observations[i].epochs);
    require_positive(i, "the global batch size B", observations[i].global_batch);
  }
}

void check_observations(std::span<const NoiseObservation> observations) {
  for (std::size_t i = 0; i < observations.size(); ++i) {
    require_positive(i, "the normalised noise", observations[i].normalised_noise);
    require_positive(i, "the global batch size B", observations[i].global_batch);
  }
}

}  // namespace scavenger::perfmodel
