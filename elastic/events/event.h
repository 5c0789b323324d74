// The facts of a run: everything that events.jsonl can hold, one JSON object per line.
//
//   {"time":12.4,"event":"checkpoint","iteration":300,...}
//
// The event log is the truth about a run: reports, replays and the simulator read or write these.
// docs/events.md documents every field for readers outside of this program; event_fields.h is the
// one list of fields that both the writer and the reader follow.
//
// Conventions: iterations count from 0; `first` and `first_iteration` name an iteration, every
// other `iteration` says how many were complete. A position is a place in the job's global sample
// order: how many samples were consumed. Seconds are wall seconds of monotonic clocks. A number
// that is not finite is null in JSON, and NaN here once it is read back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "elastic/events/half_batches.h"
#include "elastic/events/iteration_block.h"
#include "elastic/events/machine_events.h"
#include "elastic/events/process_events.h"
#include "elastic/events/search_events.h"
#include "elastic/events/vm_step.h"
#include "runtime/base/named_variant.h"
#include "runtime/vocabulary/metric.h"
#include "runtime/vocabulary/policy.h"
#include "runtime/vocabulary/precision.h"
#include "runtime/vocabulary/split.h"
#include "runtime/vocabulary/status.h"

namespace scavenger::elastic {

// Raised when an event or a field is added, removed, or changes its meaning. Readers refuse what
// is newer.
inline constexpr std::uint32_t kEventSchemaVersion = 12;

namespace fact {

struct Host {
  std::string name;
  std::uint32_t cores = 0;
  std::uint64_t memory_bytes = 0;
  std::string cpu;  // its model, as the system names it

  bool operator==(const Host&) const = default;
};

struct Target {
  Metric metric = Metric::kAccuracy;
  Split split = Split::kTest;
  double value = 0.0;

  bool operator==(const Target&) const = default;
};

// Where the job stops in any case. Zero: no limit.
struct Limits {
  double max_epochs = 0.0;
  std::uint64_t max_iterations = 0;
  double max_seconds = 0.0;
  double max_cost = 0.0;  // dollars

  bool operator==(const Limits&) const = default;
};

// First event of each process of scavenger-train that works on the job: once, and once per resume.
struct Start {
  static constexpr std::string_view kName = "start";

  std::uint32_t schema_version = kEventSchemaVersion;
  std::string utc;     // date and time of day, "2026-11-21T08:35:08Z"
  std::string job_id;  // stays the same over resumes
  std::string name;
  std::string version;
  std::string commit;
  std::string config_digest;
  Host host;                                            // of scavenger-train
  std::optional<std::uint64_t> resumed_from_iteration;  // what came after it is done again
  double time_before = 0.0;  // seconds of the job's life in earlier processes
  std::uint32_t workers = 0;
  double price_per_worker_hour = 0.0;
  std::optional<Precision> precision;  // older logs do not say it
  std::uint64_t samples_per_epoch = 0;
  std::uint64_t parameter_count = 0;  // 0: not known yet
  std::optional<Target> target;
  Limits limits;
  std::optional<Policy> policy;  // by which K, B and machines are sought; older logs do not say it

  bool operator==(const Start&) const = default;
};

// From first_iteration on, these workers train with this batch size. Where more iterations were
// done before, those above are lost, and done again.
struct Membership {
  static constexpr std::string_view kName = "membership";

  std::uint32_t membership_epoch = 0;
  std::uint32_t workers = 0;           // K
  std::uint32_t batch_size = 0;        // B
  std::vector<std::uint32_t> indices;  // of the workers, by rank
  std::vector<std::uint32_t> shares;   // b_k by rank; they sum to B
  std::uint64_t first_iteration = 0;
  std::uint64_t position = 0;
  std::string reason;
  double rate_factor = 1.0;  // the schedule's learning rate is multiplied with it

  bool operator==(const Membership&) const = default;
};

// One worker's part in a series of iterations; each list holds one number per iteration.
struct WorkerSeries {
  std::uint32_t rank = 0;
  std::vector<double> data_wait;       // seconds until its batch was there
  std::vector<double> forward;         // seconds
  std::vector<double> backward;        // seconds
  std::vector<double> sync_wait;       // seconds from the end of backward to new weights
  std::vector<double> local_sqr_norm;  // |g_k|^2 of its mean gradient

  bool operator==(const WorkerSeries&) const = default;
};

// Iterations first, ..., first + count - 1, of one membership. Measured series are written with
// five significant digits.
struct Iterations {
  static constexpr std::string_view kName = "iterations";

  std::uint32_t membership_epoch = 0;
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  double learning_rate = 0.0;             // of the first of them
  std::vector<double> loss;               // mean per sample, over all workers
  std::vector<double> seconds;            // wall seconds of each iteration
  std::vector<double> global_sqr_norm;    // |sum_k (b_k / B) g_k|^2
  std::vector<WorkerSeries> workers;      // those that reported, by rank
  std::vector<HalfBatches> half_batches;  // of few of them

  bool operator==(const Iterations&) const = default;
};

// What is trained, once the first worker has built it.
struct Model {
  static constexpr std::string_view kName = "model";

  std::uint64_t parameter_count = 0;
  std::string architecture;         // a digest of its layers
  std::vector<std::string> groups;  // of parameters, in noise.per_layer's order; empty: one for all

  bool operator==(const Model&) const = default;
};

// The gradient noise has settled in this phase of the learning rate.
struct NoiseStable {
  static constexpr std::string_view kName = "noise_stable";

  std::uint64_t iteration = 0;
  std::uint32_t noise_phase = 0;  // learning-rate phases count from 1
  double learning_rate = 0.0;     // at its beginning
  double noise_scale = 0.0;       // B_s, in samples
  double noise_scale_low = 0.0;   // of its 95 % interval
  double noise_scale_high = 0.0;  // not finite: it is open

  bool operator==(const NoiseStable&) const = default;
};

// What the learning rate is to be multiplied with from the next membership on, by the gradient
// noise that was logged so far.
struct RateDecision {
  static constexpr std::string_view kName = "rate_decision";

  std::uint64_t iteration = 0;
  std::uint32_t batch_size = 0;  // B that it is for
  double noise_scale = 0.0;      // B_s; not finite: it is not known
  double factor = 1.0;

  bool operator==(const RateDecision&) const = default;
};

// What a pass takes of a worker's memory, measured at its first batch.
struct SampleMemory {
  static constexpr std::string_view kName = "sample_memory";

  std::uint32_t worker = 0;            // its index
  std::uint64_t bytes_per_sample = 0;  // what each adds
  std::uint64_t room_samples = 0;      // so many can go through one pass

  bool operator==(const SampleMemory&) const = default;
};

// How a worker uses its device, so far.
struct DeviceUse {
  static constexpr std::string_view kName = "device_use";

  std::uint32_t worker = 0;  // its index
  std::string device;
  std::uint64_t most_used_bytes = 0;
  std::uint64_t most_reserved_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint32_t graphs = 0;  // passes that were recorded as CUDA graphs

  bool operator==(const DeviceUse&) const = default;
};

// What a script of the user's has logged, as rank 0 had it: a value for each name.
struct ScriptValues {
  static constexpr std::string_view kName = "script_values";

  std::uint64_t iteration = 0;  // the one that was trained when it was logged
  std::vector<std::string> names;
  std::vector<double> values;

  bool operator==(const ScriptValues&) const = default;
};

// A number for each metric, if the job has it.
class MetricValues final {
 public:
  std::optional<double>& operator[](Metric metric) { return values_.at(index(metric)); }
  const std::optional<double>& operator[](Metric metric) const { return values_.at(index(metric)); }

  bool operator==(const MetricValues&) const = default;

 private:
  static std::size_t index(Metric metric) { return static_cast<std::size_t>(metric); }
  std::array<std::optional<double>, kMetrics.size()> values_;
};

struct Evaluation {
  static constexpr std::string_view kName = "evaluation";

  std::uint64_t iteration = 0;
  double epoch = 0.0;  // position / samples_per_epoch
  Split split = Split::kTest;
  std::uint64_t samples = 0;
  double loss = 0.0;     // mean per prediction
  MetricValues metrics;  // the others that the job has
  double seconds = 0.0;

  bool operator==(const Evaluation&) const = default;
};

struct Checkpoint {
  static constexpr std::string_view kName = "checkpoint";

  std::uint64_t iteration = 0;
  std::string folder;  // path within the run folder
  std::uint64_t bytes = 0;
  double stall_seconds = 0.0;  // for which training stood still
  double write_seconds = 0.0;  // from the request to the rename, beside training
  bool best = false;           // by the job's metric, so far

  bool operator==(const Checkpoint&) const = default;
};

struct CheckpointFailed {
  static constexpr std::string_view kName = "checkpoint_failed";

  std::uint64_t iteration = 0;
  std::string reason;

  bool operator==(const CheckpointFailed&) const = default;
};

// Found at a resume, and passed over.
struct CheckpointDamaged {
  static constexpr std::string_view kName = "checkpoint_damaged";

  std::string folder;
  std::string reason;

  bool operator==(const CheckpointDamaged&) const = default;
};

// Training stands still because somebody asked for it, or goes on again. Told again now and then
// while it stands still, so that the log's time and cost go on.
struct Pause {
  static constexpr std::string_view kName = "pause";

  bool paused = false;
  std::uint64_t iteration = 0;

  bool operator==(const Pause&) const = default;
};

struct TargetReached {
  static constexpr std::string_view kName = "target_reached";

  Metric metric = Metric::kAccuracy;
  Split split = Split::kTest;
  double value = 0.0;  // what was measured, not what was asked for
  std::uint64_t iteration = 0;
  double epoch = 0.0;

  bool operator==(const TargetReached&) const = default;
};

struct Warning {
  static constexpr std::string_view kName = "warning";

  std::string text;

  bool operator==(const Warning&) const = default;
};

// Last event of a process that ends by itself.
struct End {
  static constexpr std::string_view kName = "end";

  Status status = Status::kFailed;
  std::string reason;
  std::uint64_t iteration = 0;
  std::uint64_t position = 0;
  int exit_code = 0;

  bool operator==(const End&) const = default;
};

}  // namespace fact

using RunEvent =
    std::variant<fact::Start, fact::ProcessStarted, fact::ProcessJoined, fact::ProcessLost,
                 fact::Recovery, fact::Membership, fact::Iterations, fact::IterationBlock,
                 fact::Model, fact::NoiseStable, fact::RateDecision, fact::SampleMemory,
                 fact::DeviceUse, fact::ScriptValues, fact::UserError, fact::Evaluation,
                 fact::Checkpoint, fact::CheckpointFailed, fact::CheckpointDamaged, fact::Pause,
                 fact::TargetReached, fact::Machine, fact::SearchStep, fact::VmStep,
                 fact::Prediction, fact::Warning, fact::End>;

static_assert(have_different_names<RunEvent>());

struct LoggedEvent {
  double time = 0.0;  // seconds of this job's life; goes on over resumes, never back
  RunEvent event;

  bool operator==(const LoggedEvent&) const = default;
};

std::string_view event_name(const RunEvent& event);
// Iterations, one by one or as a block: decisions are made when one was logged.
bool is_measurement(const RunEvent& event);

// One line of events.jsonl, without its newline. Text that is not UTF-8 gets replacement
// characters. Requires series and shares of matching lengths.
std::string to_json_line(const LoggedEvent& logged);

// Reads what to_json_line() wrote. Strict: throws InputError for anything that is not exactly one
// known event with exactly its fields; `where` ("runs/mlp/events.jsonl:17") goes into the message.
LoggedEvent from_json_line(std::string_view line, const std::string& where);

}  // namespace scavenger::elastic
