#include "elastic/rate/rate_replay.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "elastic/rate/rate_rule.h"

namespace scavenger::elastic {

std::optional<std::string> RateReplay::compare(const fact::RateDecision& recorded) const {
  const std::string found = to_json_line({0.0, recorded});
  if (!follows_noise(optimizer_, recorded.batch_size))
    return "nothing is to be decided, and the log has " + found;
  const std::string wanted =
      to_json_line({0.0, decide_rate(optimizer_, summary_.numbers(), recorded.batch_size)});
  if (wanted == found) return std::nullopt;
  return fmt::format("decided {}, and the log has {}", wanted, found);
}

std::optional<std::string> RateReplay::add(const LoggedEvent& logged) {
  std::optional<std::string> difference;
  if (const auto* start = std::get_if<fact::Start>(&logged.event))
    optimizer_ = optimizer_of_(*start);
  if (const auto* decision = std::get_if<fact::RateDecision>(&logged.event)) {
    difference = compare(*decision);
    ++decisions_;
  }
  summary_.apply(logged);
  return difference;
}

bool follows_noise(const OptimizerConfig& optimizer) {
  return optimizer.batch_size_rule == BatchSizeRule::kAdaScale;
}

ReplayedLog replay_rates(const std::filesystem::path& run_folder,
                         RateReplay::OptimizerOf optimizer_of) {
  return replay_log(run_folder, RateReplay(std::move(optimizer_of)));
}

}  // namespace scavenger::elastic
