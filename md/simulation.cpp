#include "md/simulation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "md/limits.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"

namespace scavenger::md {
namespace {

constexpr std::int64_t kStepsBetweenQuestions = 20;

System checked(System system, const SimulationSettings& settings) {
  const MotionSettings& motion = settings.motion;
  check_range("--time-step", motion.time_step, 1e-6, 0.05);
  check_range("--friction", motion.friction, 0.0, 100.0);
  check_range("--equilibration-steps", static_cast<double>(motion.equilibration_steps), 0, 1e12);
  check_range("--sample-every", static_cast<double>(settings.sample_every), 1, 1e9);
  check_range("--samples-per-block", static_cast<double>(settings.samples_per_block), 1, 1e9);
  check_range("--bin-width", settings.bin_width, 0.005, 10.0);
  return system;
}

std::string identity_of(const System& system, const SimulationSettings& settings) {
  const MotionSettings& motion = settings.motion;
  return fmt::format(
             "{} seed={} time_step={} friction={} equilibration={} constant_energy={} "
             "sample_every={} "
             "samples_per_block={} bin_width={}",
             system.identity, motion.seed, motion.time_step, motion.friction,
             motion.equilibration_steps, motion.constant_energy, settings.sample_every,
             settings.samples_per_block,
             settings.bin_width) +
         (settings.is_folded ? " folded=true" : "");  // as states of earlier versions have it
}

// The option of scavenger-md that a word of an identity is of.
std::string option_of(const std::string& key) {
  if (key == "slit_nm" || key == "side_nm") return "--" + key.substr(0, key.find('_'));
  if (key == "valencies" || key == "diameters") return key;
  if (key == "equilibration") return "--equilibration-steps";
  if (key == "constant_energy") return "--ensemble nve";
  if (key == "folded") return "--fold";
  std::string option = "--" + key;
  std::ranges::replace(option, '_', '-');
  return option;
}

// How a state's identity differs from what is asked for, in the words of the command line.
std::string difference(const std::string& there, const std::string& wanted) {
  std::istringstream one(there), other(wanted);
  std::vector<std::string> parts;
  std::string a, b;
  while (one >> a) {
    const std::string option = option_of(a.substr(0, a.find('=')));
    if (!(other >> b)) return "with " + option;
    if (a == b) continue;
    const std::size_t sign = b.find('=');
    if (sign == std::string::npos || a.substr(0, sign) != b.substr(0, sign))
      return a + ", not " + b;
    parts.push_back(fmt::format("{} {}, not {}", option, a.substr(sign + 1), b.substr(sign + 1)));
  }
  if (other >> b) parts.push_back("without " + option_of(b.substr(0, b.find('='))));
  return parts.empty() ? there : fmt::format("{}", fmt::join(parts, "; "));
}

std::optional<State> state_of(const std::filesystem::path& folder, const System& system,
                              const SimulationSettings& settings) {
  std::optional<State> state = read_state(folder);
  if (!state) return state;
  const std::string wanted = identity_of(system, settings);
  if (state->identity != wanted || state->phase.positions.size() != system.particles()) {
    throw InputError({.what = "the folder holds the state of another simulation: " +
                              difference(state->identity, wanted),
                      .where = folder.string(),
                      .remedy = "use another folder, or remove its state.bin and state.before"});
  }
  return state;
}

nlohmann::ordered_json number(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

Simulation::Simulation(const System& system, SimulationSettings settings,
                       const std::filesystem::path& folder, const PairKernels& kernels)
    : Simulation(checked(system, settings), settings, folder, kernels,
                 state_of(folder, system, settings)) {}

Simulation::Simulation(System system, SimulationSettings settings, std::filesystem::path folder,
                       const PairKernels& kernels, std::optional<State> state)
    : system_(std::move(system)),
      settings_(settings),
      folder_(std::move(folder)),
      identity_(identity_of(system_, settings_)),
      bins_(system_.box, settings_.bin_width, system_.species_names.size(), settings_.is_folded),
      averages_(state ? state->averages
                      : Averages(kQuantities, system_.box.has_walls ? bins_.all() : 0,
                                 settings_.samples_per_block)),
      dynamics_(state ? Dynamics(system_, settings_.motion, kernels, std::move(state->phase))
                      : Dynamics(system_, settings_.motion, kernels)) {}

Average Simulation::average(Quantity quantity) const {
  return averages_.value(static_cast<std::size_t>(quantity));
}

bool Simulation::advance(const Stretch& stretch) {
  while (step() < stretch.until) {
    const bool has_sample = is_sampled(step() + 1);
    dynamics_.step(has_sample);
    if (has_sample) sample();
    if (stretch.checkpoint_every > 0 && step() % stretch.checkpoint_every == 0) save();
    if (step() % kStepsBetweenQuestions == 0 && stretch.is_stop_requested()) {
      save();
      return step() >= stretch.until;
    }
  }
  save();
  return true;
}

bool Simulation::is_sampled(std::int64_t step) const {
  return step > settings_.motion.equilibration_steps && step % settings_.sample_every == 0;
}

void Simulation::sample() {
  const Energies energies = dynamics_.energies();
  const auto n = static_cast<double>(system_.particles());
  const auto add = [&](Quantity quantity, double value) {
    averages_.add_value(static_cast<std::size_t>(quantity), value);
  };
  add(Quantity::kTemperature, energies.temperature);
  add(Quantity::kPotential, energies.potential / n);
  add(Quantity::kEnergy, (energies.potential + energies.kinetic) / n);
  add(Quantity::kPressure, energies.pressure);
  if (system_.box.has_walls) {
    for (std::size_t i = 0; i < system_.particles(); ++i) {
      averages_.add_count(bins_.bin_of(dynamics_.phase().positions[i][2], system_.species[i]));
    }
  }
  averages_.end_sample();
}

void Simulation::save() const {
  write_state({.identity = identity_, .phase = dynamics_.phase(), .averages = averages_}, folder_);
}

void Simulation::write_results(std::size_t points) const {
  nlohmann::ordered_json result;
  result["system"] = system_.identity;
  result["particles"] = system_.particles();
  result["steps"] = step();
  result["samples"] = averages_.samples();
  result["blocks"] = averages_.blocks();
  const auto add = [&](const char* name, Quantity quantity) {
    const Average value = average(quantity);
    result[name] = number(value.mean);
    result[std::string(name) + "_error"] = number(value.error);
  };
  add("temperature", Quantity::kTemperature);
  add("potential_energy", Quantity::kPotential);
  add("energy", Quantity::kEnergy);
  if (!system_.box.has_walls) add("pressure", Quantity::kPressure);
  if (system_.box.has_walls) {
    write_file_atomically(folder_ / "profile.csv",
                          profile_text(system_, profile(system_, bins_, averages_, points)));
  }
  write_file_atomically(folder_ / "result.json", json_text(result, {.indent = 1}) + "\n");
}

}  // namespace scavenger::md
