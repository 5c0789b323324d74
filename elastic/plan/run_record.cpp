#include "elastic/plan/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "elastic/events/event_log.h"
#include "elastic/history/run_summary.h"
#include "elastic/plan/host_type.h"
#include "elastic/plan/measured_configurations.h"
#include "elastic/plan/measured_machines.h"
#include "elastic/plan/model_identity.h"
#include "elastic/plan/sharing_of.h"
#include "elastic/plan/slow_machines.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/config/config_file.h"
#include "runtime/config/placement.h"

namespace scavenger::elastic {
namespace {

// Below this a mean of seconds says too little to be kept.
constexpr std::uint64_t kFewestIterations = 5;

// The first of the data's files, or else their format.
std::string data_name(const nlohmann::json& data) {
  for (const char* split : {"train", "test"})
    for (const char* key : {"features", "labels", "files"}) {
      if (!data.at(split).contains(key)) continue;
      const nlohmann::json& files = data.at(split).at(key);
      return files.is_array() ? files.at(0).get<std::string>() : files.get<std::string>();
    }
  return data.at("train").at("format").get<std::string>();
}

// Where a value that was below the goal at one evaluation and not at the next one passed it.
double crossing(const CurvePoint& before, const CurvePoint& after, double goal) {
  const double share = (goal - before.mean) / (after.mean - before.mean);
  return before.epoch + std::clamp(share, 0.0, 1.0) * (after.epoch - before.epoch);
}

std::optional<double> epochs_to_target(const RunNumbers& numbers) {
  if (!numbers.target_reached || !numbers.start.target) return std::nullopt;
  const fact::Target& target = *numbers.start.target;
  const SplitNumbers* split = numbers.find_split(target.split);
  const double reached = numbers.target_reached->fact.epoch;
  if (split == nullptr) return reached;
  const auto& points = split->followed.points();  // of the target's metric
  if (points.size() < 2) return reached;
  const CurvePoint &before = points[points.size() - 2], &after = points.back();
  if (before.count != 1 || after.count != 1) return reached;
  return crossing(before, after, target.value);
}

void add_times(const RunNumbers& numbers, const std::string& job, const std::string& machine,
               perfmodel::ModelRecord& record) {
  for (const MeasuredConfiguration& one : measured_since(numbers, 0.0)) {
    if (one.iterations < kFewestIterations) continue;
    const perfmodel::TimeObservation& seconds = one.seconds;
    record.times.push_back({job, machine, seconds.configuration.workers,
                            seconds.configuration.global_batch, seconds.seconds,
                            std::min(seconds.standard_error, seconds.seconds),
                            static_cast<double>(one.iterations)});
  }
}

// Of a job that has trained on machines of several types: what it has measured of each.
void add_machine_types(perfmodel::ModelRecord own, const std::string& job,
                       perfmodel::ModelRecord& record) {
  for (auto* rows : {&own.times, &own.compute})
    for (perfmodel::TimeRow& row : *rows) {
      row.job = job;
      row.standard_error = std::min(row.standard_error, row.seconds);
    }
  record.times = std::move(own.times);
  record.compute = std::move(own.compute);
}

// As if none of its machines had been slow.
KnownModel usual_machines(const JobConfig& config, const RunNumbers& numbers) {
  return measured_machines(numbers, slow_machines_of_run(numbers), sharing_of(config));
}

std::set<std::string> rented_types(const RunNumbers& numbers) {
  std::set<std::string> types;
  for (const auto& timed : numbers.machines.latest)
    if (timed.fact.change == fact::MachineChange::kReady) types.insert(timed.fact.machine_type);
  return types;
}

void add_noise(const RunNumbers& numbers, const std::string& job, perfmodel::ModelRecord& record) {
  for (const PhaseNumbers& phase : numbers.phases) {
    const auto noise = phase.noise.numbers();
    if (!noise || !std::isfinite(noise->estimate.noise_scale.value)) continue;
    const auto workers = static_cast<double>(phase.membership.workers);
    const auto batch = static_cast<double>(phase.membership.batch_size);
    const noise::Measured& scale = noise->estimate.noise_scale;
    const double gamma = noise::gamma_at(noise->estimate, workers, batch).value;
    perfmodel::NoiseRow row{job,
                            noise->phase,
                            workers,
                            batch,
                            scale.value,
                            scale.interval.low,
                            std::isfinite(scale.interval.high) ? scale.interval.high : 0.0,
                            workers > 1.0 ? gamma / workers : 0.0,
                            static_cast<double>(noise->estimate.iterations)};
    const auto same = std::find_if(record.noise.begin(), record.noise.end(), [&](const auto& old) {
      return old.workers == row.workers && old.batch_size == row.batch_size &&
             old.phase == row.phase;
    });
    if (same == record.noise.end())
      record.noise.push_back(std::move(row));
    else if (same->iterations < row.iterations)
      *same = std::move(row);
  }
}

void add_epochs(const RunNumbers& numbers, const std::string& job, perfmodel::ModelRecord& record) {
  const auto epochs = epochs_to_target(numbers);
  const auto measured = measured_since(numbers, 0.0);
  if (!epochs || !(*epochs > 0.0) || measured.size() != 1) return;
  const MeasuredConfiguration& only = measured.front();
  const double batch = only.seconds.configuration.global_batch;
  for (const ConfigurationNumbers& had : numbers.configurations())
    if (had.batch_size != batch || had.workers != only.seconds.configuration.workers) return;
  const double iterations = *epochs * static_cast<double>(numbers.start.samples_per_epoch) / batch;
  record.epochs.push_back({job, target_name(*numbers.start.target),
                           only.seconds.configuration.workers, batch, *epochs,
                           iterations * only.total_seconds / static_cast<double>(only.iterations)});
}

}  // namespace

std::string target_name(const fact::Target& target) {
  return fmt::format("{} {} {}", name_of(target.split), name_of(target.metric), target.value);
}

perfmodel::ModelSignature signature_of(const JobConfig& config, const RunNumbers& numbers) {
  const ModelIdentity identity = identity_of(config);
  perfmodel::ModelSignature signature;
  if (numbers.model) {
    signature.architecture = numbers.model->fact.architecture;
    signature.parameters = numbers.model->fact.parameter_count;
  } else {
    signature.architecture = identity_digest(identity.model);
  }
  signature.data_set = data_name(identity.data) + " " + identity_digest(identity.data);
  signature.samples_per_epoch = numbers.start.samples_per_epoch;
  signature.optimizer = json_text(identity.optimizer);
  return signature;
}

perfmodel::ModelRecord record_of(const JobConfig& config, const RunNumbers& numbers,
                                 const std::string& default_machine) {
  perfmodel::ModelRecord record;
  record.signature = signature_of(config, numbers);
  record.name = config.name;
  record.price_per_worker_hour = config.cluster.price_per_worker_hour;
  const std::string& configured = config.model_store.machine_type;
  const std::string& job = numbers.start.job_id;
  if (configured.empty() && rented_types(numbers).size() > 1)
    add_machine_types(usual_machines(config, numbers).record, job, record);
  else
    add_times(numbers, job, configured.empty() ? default_machine : configured, record);
  add_noise(numbers, job, record);
  add_epochs(numbers, job, record);
  return record;
}

std::string machine_type(const JobConfig& config, const RunNumbers& numbers) {
  if (!config.model_store.machine_type.empty()) return config.model_store.machine_type;
  const std::set<std::string> types = rented_types(numbers);
  if (types.size() == 1 && !types.begin()->empty()) return *types.begin();
  if (runs_here(config)) return host_type(numbers.start.host);
  const ProviderType provider = config.provider.type;
  return fmt::format("{} hosts",
                     name_of(config.provider.is_remote() ? provider : ProviderType::kSsh));
}

void SpotExposure::add(const perfmodel::Lifetime& life) {
  vm_hours += life.seconds / 3600.0;
  losses += life.lost ? 1.0 : 0.0;
  lives.push_back(life);
}

std::map<std::string, SpotExposure> spot_exposures(const RunNumbers& numbers) {
  std::map<std::string, SpotExposure> exposures;
  std::map<std::string, Timed<fact::Machine>> there;  // by name
  const auto end = [&](const Timed<fact::Machine>& begun, double time, bool lost) {
    exposures[begun.fact.machine_type].add({std::max(0.001, time - begun.time), lost});
  };
  for (const auto& timed : numbers.machines.latest) {
    if (!timed.fact.spot) continue;
    if (timed.fact.change == fact::MachineChange::kReady) there[timed.fact.name] = timed;
    const bool lost = timed.fact.change == fact::MachineChange::kLost;
    if (!lost && timed.fact.change != fact::MachineChange::kReleased) continue;
    if (const auto begun = there.extract(timed.fact.name)) end(begun.mapped(), timed.time, lost);
  }
  for (const auto& [name, begun] : there) end(begun, numbers.seconds, false);
  return exposures;
}

RecordedRun read_run(const std::filesystem::path& run_folder) {
  if (!std::filesystem::exists(run_folder / "events.jsonl"))
    throw InputError(
        {.what = "this is no run folder: it has no events.jsonl",
         .where = run_folder.string(),
         .remedy = "name a folder that scavenger-train made, such as runs/fashion_mlp"});
  const JobConfig config = read_resolved_config(run_folder / "config.json");
  RunSummary summary;
  EventLogReader log(run_folder / "events.jsonl");
  while (const auto logged = log.next()) summary.apply(*logged);
  const RunNumbers& numbers = summary.numbers();
  std::optional<std::uint64_t> bytes_per_sample;
  for (const auto& timed : numbers.sample_memory.latest)
    bytes_per_sample = std::max(bytes_per_sample.value_or(0), timed.fact.bytes_per_sample);
  return {record_of(config, numbers, machine_type(config, numbers)),
          numbers.room_samples(),
          bytes_per_sample,
          spot_exposures(numbers),
          usual_machines(config, numbers).lengthened,
          shard_count(config) > 0,
          !numbers.device_use.latest.empty()};
}

}  // namespace scavenger::elastic
