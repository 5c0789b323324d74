// What a run has measured, in the words of the model store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "elastic/history/run_numbers.h"
#include "elastic/plan/known_model.h"
#include "perfmodel/store/model_record.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// Of a target, as the store knows it: "test accuracy 0.88".
std::string target_name(const fact::Target& target);

// From the resolved configuration and the model that was built. The seed, K, B, prices, limits and
// places of files are no part of it; what a sample is, is.
perfmodel::ModelSignature signature_of(const JobConfig& config, const RunNumbers& numbers);

// Seconds per iteration of each (K, B) with measurements enough (of a job that has rented machines
// of several types: of each type, and the compute of its workers), its noise, and, if the target
// was reached with one B and all iterations at one K, the epochs to it. The crossing is
// interpolated between the last two evaluations.
perfmodel::ModelRecord record_of(const JobConfig& config, const RunNumbers& numbers,
                                 const std::string& default_machine);

// The type of all machines that the job's workers had, if they were rented and all of one type;
// else host_type(), or if they ran elsewhere, "ssh hosts". What the configuration names counts
// more.
std::string machine_type(const JobConfig& config, const RunNumbers& numbers);

struct RecordedRun {
  perfmodel::ModelRecord record;
  std::optional<std::uint64_t> room_samples;      // RunNumbers::room_samples()
  std::optional<std::uint64_t> bytes_per_sample;  // the largest that a worker measured
  std::map<std::string, SpotExposure> spot;       // spot_exposures()
  std::vector<perfmodel::TimeRow> lengthened;     // KnownModel's
  bool state_is_elsewhere = false;                // likewise
  bool used_gpus = false;                         // likewise
};

// How long a run's spot machines were there, and how often one was taken away, by type. Those that
// are there still count until the run's last event; of a very long run the latest machines count.
std::map<std::string, SpotExposure> spot_exposures(const RunNumbers& numbers);

// Reads a run folder. Throws InputError if it is none.
RecordedRun read_run(const std::filesystem::path& run_folder);

}  // namespace scavenger::elastic
