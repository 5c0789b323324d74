// A simulation in its folder: goes on from the state that it finds there, samples, and writes
// results. The files are state.bin (state_file.h), result.json, and between walls profile.csv.
// Thread: one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "md/averages.h"
#include "md/dynamics.h"
#include "md/profile.h"
#include "md/state_file.h"
#include "md/system.h"

namespace scavenger::md {

struct SimulationSettings {
  MotionSettings motion;
  std::int64_t sample_every = 20;        // steps
  std::int64_t samples_per_block = 500;  // of the blocks that error bars are made of
  double bin_width = 0.05;               // of the profile, reduced units
  bool is_folded = false;                // the profile is a mean over both halves of the slit
};

struct Stretch {
  std::int64_t until = 0;                                          // the step at which it ends
  std::int64_t checkpoint_every = 0;                               // steps; 0: only at the end
  std::function<bool()> is_stop_requested = [] { return false; };  // asked every few steps
};

// What is sampled of all systems, per particle where it is extensive.
enum class Quantity : std::size_t { kTemperature, kPotential, kEnergy, kPressure };
inline constexpr std::size_t kQuantities = 4;

class Simulation final {
 public:
  // Throws InputError if a setting is out of range, or the folder's state is of another simulation;
  // CheckpointError if the state is damaged.
  Simulation(const System& system, SimulationSettings settings, const std::filesystem::path& folder,
             const PairKernels& kernels = best_pair_kernels());
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  std::int64_t step() const { return dynamics_.phase().step; }
  const System& system() const { return system_; }
  const Averages& averages() const { return averages_; }
  Average average(Quantity quantity) const;

  // Writes the state at its end and at checkpoints. Returns whether it reached the end; false if a
  // stop was requested. Throws Diverged; the state then stays what it was.
  bool advance(const Stretch& stretch);

  // `points`: see profile().
  void write_results(std::size_t points) const;

 private:
  Simulation(System system, SimulationSettings settings, std::filesystem::path folder,
             const PairKernels& kernels, std::optional<State> state);
  bool is_sampled(std::int64_t step) const;
  void sample();
  void save() const;

  System system_;
  SimulationSettings settings_;
  std::filesystem::path folder_;
  std::string identity_;
  ProfileBins bins_;
  Averages averages_;
  Dynamics dynamics_;
};

}  // namespace scavenger::md
