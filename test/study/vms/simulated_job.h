// A cloud of thirty machine types and a job on it, drawn at random. Its laws are deliberately not
// those of perfmodel/machines: hard maxima, serial parts, cache and step effects, contention, VMs
// and drifts with heavy tails. What a planner may know of it is measured with scatter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "elastic/plan/known_model.h"
#include "elastic/vms/vm_plan.h"
#include "elastic/vms/vm_types.h"

namespace scavenger::elastic {

// What only the simulation knows. It has more than 20 fields, one for each number that a law has.
struct CloudTruth {
  enum class Compute { kAmdahl, kRoofline, kCache, kHost, kSteps };
  enum class Sync { kServer, kRing, kContention, kRounds };
  enum class Overlap { kNone, kPart, kWhole };
  enum class Epochs { kLine, kRoot, kPower };

  Compute compute = Compute::kAmdahl;
  Sync sync = Sync::kServer;
  Overlap overlap = Overlap::kNone;
  Epochs epochs = Epochs::kLine;
  std::vector<double> core_speeds;        // by type: of one core, about 1
  std::vector<double> memory_bandwidths;  // by type: about 1 for each core
  std::vector<double> links;              // by type, gigabytes a second
  double sample_seconds = 0.0;            // of one core of speed 1
  double launch_seconds = 0.0;            // of an iteration, on such a core
  double serial_share = 0.0;              // kAmdahl
  double memory_seconds = 0.0;            // kRoofline: of a sample at bandwidth 1
  double cache_samples = 0.0;             // kCache: beyond it a sample takes longer
  double host_cores = 0.0;                // kHost: no more of them load data
  double gigabytes = 0.0;                 // of the gradients
  double server_link = 0.0;               // kServer, gigabytes a second
  double latency_seconds = 0.0;
  double least_epochs = 0.0;
  double critical_batch = 0.0;
  double between_vms = 0.0;  // as SpeedVariance, with heavy tails
  double drift = 0.0;
  double seed_spread = 0.0;  // of ln(epochs)
  double losses_per_hour = 0.0;
};

// What became of a job, or of a plan of it.
struct JobResult {
  double seconds = 0.0;
  double cost = 0.0;
};

class SimulatedJob final {
 public:
  explicit SimulatedJob(std::uint64_t number);

  const std::vector<VmType>& types() const { return types_; }
  const std::vector<double>& batches() const { return batches_; }
  // Runs on one type, with 1, 2 and 4 VMs and three batch sizes.
  const KnownModel& measured() const { return known_; }
  const CloudTruth& truth() const { return truth_; }
  std::size_t place_of(const std::string& type) const;

  // Compute of one VM of median speed, in seconds.
  double compute_seconds(std::size_t type, double local_batch) const;
  // Seconds of an iteration with workers that compute so long at the slowest link of the groups.
  double iteration_seconds(double compute, double link, double vms) const;
  double epochs(double batch) const;

  // With median VMs and no loss, as if it were known.
  JobResult expected(std::size_t type, double vms, double batch) const;
  // What becomes of it on these groups of 64 VMs at most. The same seeds, VMs and drift whatever
  // the plan.
  JobResult run(const VmRow& row, perfmodel::Sharing sharing) const;
  // What an audition of one VM would measure: compute alone at three shares up to this one.
  std::vector<perfmodel::TimeRow> audition(std::size_t type, double local_batch) const;

 private:
  void draw_catalogue(std::mt19937_64& random);
  void draw_job(std::mt19937_64& random);
  void measure(std::mt19937_64& random);
  void draw_run(std::mt19937_64& random);
  double vm_slowdown(std::mt19937_64& random) const;

  std::uint64_t number_;
  std::vector<VmType> types_;
  CloudTruth truth_;
  std::size_t measured_type_ = 0;
  std::vector<double> batches_;
  KnownModel known_;
  // Of the run: VMs in the order in which they are asked for, and what all of them share.
  std::vector<double> vm_slowdowns_;
  double job_slowdown_ = 1.0;
  double start_seconds_ = 0.0;
  double luck_ = 0.0;  // uniform: whether spot machines are lost
};

// A question about it whose limits are between what is hardly and what is easily kept.
VmQuestion drawn_question(const SimulatedJob& job, std::uint64_t number);

}  // namespace scavenger::elastic
