#include "elastic/decisions/controller_json.h"

#include <algorithm>
#include <concepts>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

using nlohmann::json;

// ---- The fields of each, for reading and for writing. ----

template <typename T, typename... Wanted>
concept OneOf = (std::same_as<std::remove_const_t<T>, Wanted> || ...);

auto fields_of(OneOf<CheckpointSafe, CheckpointWanted, AllProcessesEnded, TimePassed,
                     FindCheckpoint, EndProcesses> auto&) {
  return std::tie();
}
auto fields_of(
    OneOf<ProcessStarted, ProcessJoined, ProcessLeft, StartProcess, ReleaseProcess> auto& e) {
  return std::tie(e.process);
}
auto fields_of(OneOf<MachineRefused> auto& e) {
  return std::tie(e.process, e.why, e.retry_after_seconds);
}
auto fields_of(OneOf<ProcessReady> auto& e) {
  return std::tie(e.process, e.membership_epoch);
}
auto fields_of(OneOf<ProcessHalted> auto& e) {
  return std::tie(e.process, e.iteration, e.has_weights);
}
auto fields_of(OneOf<ProcessStuck, ProcessLeaving> auto& e) {
  return std::tie(e.process, e.reason);
}
auto fields_of(OneOf<IterationsDone> auto& e) {
  return std::tie(e.rank, e.count);
}
auto fields_of(OneOf<EvaluationDone> auto& e) {
  return std::tie(e.value, e.stopping_value);
}
auto fields_of(OneOf<CheckpointDone> auto& e) {
  return std::tie(e.written, e.by_loss);
}
auto fields_of(OneOf<CheckpointFound> auto& e) {
  return std::tie(e.iteration, e.position);
}
auto fields_of(OneOf<ProcessLost> auto& e) {
  return std::tie(e.process, e.how, e.by_itself, e.with_machine, e.bad_input, e.is_in_doubt);
}
auto fields_of(OneOf<LossJudged> auto& e) {
  return std::tie(e.process, e.how, e.with_machine);
}
auto fields_of(OneOf<JobImpossible> auto& e) {
  return std::tie(e.reason, e.bad_input);
}
auto fields_of(OneOf<ReshapeWanted> auto& e) {
  return std::tie(e.workers, e.batch_size, e.reason, e.rate_factor, e.is_look);
}
auto fields_of(OneOf<RateFactorWanted> auto& e) {
  return std::tie(e.batch_size, e.factor, e.reason);
}
auto fields_of(OneOf<SharesWanted> auto& e) {
  return std::tie(e.rule, e.reason);
}
auto fields_of(OneOf<SharePinned> auto& e) {
  return std::tie(e.worker, e.share, e.reason);
}
auto fields_of(OneOf<WorkersDismissed> auto& e) {
  return std::tie(e.workers);
}
auto fields_of(OneOf<PauseWanted> auto& e) {
  return std::tie(e.pauses);
}
auto fields_of(OneOf<Interrupted> auto& e) {
  return std::tie(e.by);
}
auto fields_of(OneOf<CostMetered> auto& e) {
  return std::tie(e.dollars, e.dollars_per_hour, e.dollars_to_return);
}
auto fields_of(OneOf<KillProcess> auto& e) {
  return std::tie(e.process, e.why);
}
auto fields_of(OneOf<HaltProcesses> auto& e) {
  return std::tie(e.processes);
}
auto fields_of(OneOf<ConfigureShards> auto& e) {
  return std::tie(e.source);
}
auto fields_of(OneOf<ConfigureWorkers> auto& e) {
  return std::tie(e.source, e.newcomers, e.source_rank, e.shares_state, e.reason);
}
auto fields_of(OneOf<GrantIterations> auto& e) {
  return std::tie(e.until);
}
auto fields_of(OneOf<EvaluateModel> auto& e) {
  return std::tie(e.split);
}
auto fields_of(OneOf<TakeCheckpoint> auto& e) {
  return std::tie(e.is_best, e.score);
}
auto fields_of(OneOf<TellRecovery> auto& e) {
  return std::tie(e.lost, e.iteration, e.iterations_lost, e.seconds);
}
auto fields_of(OneOf<EndJob> auto& e) {
  return std::tie(e.status, e.reason, e.bad_input);
}
auto fields_of(OneOf<Announce> auto& e) {
  return std::tie(e.text);
}
auto fields_of(OneOf<ShareRule> auto& e) {
  return std::tie(e.speeds, e.overhead_samples, e.smallest_share, e.largest_shares,
                  e.learned_bounds);
}
auto fields_of(OneOf<ProcessName> auto& e) {
  return std::tie(e.role, e.index);
}
auto fields_of(OneOf<Membership> auto& e) {
  return std::tie(e.epoch, e.batch_size, e.shares, e.first_iteration, e.first_position,
                  e.rate_factor);
}
auto fields_of(OneOf<EarlyStopState> auto& e) {
  return std::tie(e.best, e.best_iteration, e.without_gain);
}
// What the configuration does not say.
auto fields_of(OneOf<ControllerPlan> auto& e) {
  return std::tie(e.shards, e.state_home, e.membership, e.samples_per_epoch, e.resumes_checkpoint,
                  e.seconds_before, e.best_score, e.early_stop);
}

template <typename T>
concept Plain = std::is_arithmetic_v<T> || std::same_as<T, std::string>;
template <typename T>
concept Enumerator = std::is_enum_v<T>;

// ---- Writing. ----

json written(const Plain auto& value) {
  return value;  // a double that is not finite becomes null
}
json written(const Enumerator auto& value) {
  return static_cast<int>(value);
}
template <typename T>
json written(const T& value);
template <typename T>
json written(const std::optional<T>& value) {
  return value ? json::array({written(*value)}) : json::array();
}
template <typename T>
json written(const std::vector<T>& list) {
  json entries = json::array();
  for (const T& value : list) entries.push_back(written(value));
  return entries;
}
template <typename T>
json written(const std::map<std::uint32_t, T>& map) {
  json entries = json::array();
  for (const auto& [key, value] : map) entries.push_back({key, value});
  return entries;
}
template <typename T>
json written(const T& value) {
  json entries = json::array();
  const auto append = [&](const auto&... field) { (entries.push_back(written(field)), ...); };
  std::apply(append, fields_of(value));
  return entries;
}

template <typename T>
json named(const T& value) {
  json entries = written(value);
  entries.insert(entries.begin(), T::kName);
  return entries;
}

// ---- Reading: nlohmann throws where a type does not fit. ----

void read(const json& from, Plain auto& value) {
  from.get_to(value);
}
void read(const json& from, double& value) {
  value = from.is_null() ? std::numeric_limits<double>::quiet_NaN() : from.get<double>();
}
template <Enumerator T>
void read(const json& from, T& value) {
  value = static_cast<T>(from.get<int>());
}
template <typename T>
void read(const json& from, T& value);
template <typename T>
void read(const json& from, std::optional<T>& value) {
  value.reset();
  if (!from.empty()) read(from.at(0), value.emplace());
}
template <typename T>
void read(const json& from, std::vector<T>& list) {
  list.assign(from.size(), T{});
  for (std::size_t i = 0; i < list.size(); ++i) read(from.at(i), list[i]);
}
template <typename T>
void read(const json& from, std::map<std::uint32_t, T>& map) {
  map.clear();
  for (const json& entry : from) read(entry.at(1), map[entry.at(0).get<std::uint32_t>()]);
}
// What is optional, and came later than a log, is not in it.
template <typename T>
void read_at(const json& from, std::size_t place, std::optional<T>& value) {
  value.reset();
  if (place < from.size()) read(from[place], value);
}
template <typename T>
void read_at(const json& from, std::size_t place, T& value) {
  read(from.at(place), value);
}
template <typename T>
void read(const json& from, T& value) {
  std::size_t next = 0;
  const auto take = [&](auto&... field) { (read_at(from, next++, field), ...); };
  std::apply(take, fields_of(value));
  if (next < from.size()) throw std::out_of_range("there are more fields than are known");
}

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw InputError({.what = "this is no record of a decision: " + why,
                    .where = where,
                    .remedy = "it is damaged, or was written by another version"});
}

}  // namespace

json to_json(const ControllerEvent& event) {
  return std::visit([](const auto& happened) { return named(happened); }, event);
}

json to_json(const ControllerAction& action) {
  return std::visit([](const auto& what) { return named(what); }, action);
}

ControllerEvent controller_event_from(const json& written, const std::string& where) {
  try {
    const auto name = written.at(0).get<std::string>();
    const json fields(written.begin() + 1, written.end());
    ControllerEvent event;
    const auto take = [&]<typename Event>(std::type_identity<Event>) {
      read(fields, event.emplace<Event>());
    };
    if (!with_alternative(name, std::type_identity<ControllerEvent>(), take))
      throw std::out_of_range("there is no event " + name);
    return event;
  } catch (const std::exception& error) {
    refuse(where, error.what());
  }
}

json to_json(const ControllerPlan& plan) {
  return written(plan);
}

ControllerPlan controller_plan_from(const json& written, const JobConfig& config,
                                    const std::string& where) {
  ControllerPlan plan;
  try {
    read(written, plan);
  } catch (const std::exception& error) {
    refuse(where, error.what());
  }
  plan.stop = config.stop;
  plan.evaluation = config.evaluation;
  plan.checkpoint = config.checkpoint;
  plan.limits = config.limits;
  plan.faults = config.faults;
  return plan;
}

}  // namespace scavenger::elastic
