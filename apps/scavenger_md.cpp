// scavenger-md: simulates a fluid, or an electrolyte between charged walls, in its own folder.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>

#include "apps/command_line/command_line.h"
#include "apps/command_line/user_program.h"
#include "md/electrolyte.h"
#include "md/fluid.h"
#include "md/simulation.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/process/run_lock.h"

namespace scavenger {
namespace {

constexpr int kDiverged = 3;

volatile std::sig_atomic_t caught_signal = 0;

void note_signal(int signal) {
  caught_signal = signal;
}

struct Arguments {
  md::ElectrolyteSettings electrolyte;
  md::FluidSettings fluid;
  md::SimulationSettings simulation;
  std::string ensemble = "nvt";
  std::int64_t until = 0;
  std::int64_t checkpoint_every = 0;
  std::uint64_t points = 0;
  std::string folder = ".";
  std::string stop_file = "stop";
  bool is_quiet = false;
};

void declare_common(CLI::App& app, Arguments& a) {
  md::MotionSettings& motion = a.simulation.motion;
  app.add_option("--until", a.until, "The step to go to, counted from the very beginning")
      ->required()
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  app.add_option("--seed", motion.seed, "Of velocities and the thermostat")->capture_default_str();
  app.add_option("--time-step", motion.time_step, "In reduced units")->capture_default_str();
  app.add_option("--friction", motion.friction, "Of the thermostat, per reduced time")
      ->capture_default_str();
  app.add_option("--equilibration-steps", motion.equilibration_steps,
                 "The first steps, which averages leave out")
      ->capture_default_str();
  app.add_option("--sample-every", a.simulation.sample_every, "Steps from sample to sample")
      ->capture_default_str();
  app.add_option("--samples-per-block", a.simulation.samples_per_block,
                 "Of the blocks whose spread gives the error bars")
      ->capture_default_str();
  app.add_option("--folder", a.folder, "Where its state is, and its results are written")
      ->capture_default_str()
      ->check(kNamed);
  app.add_option("--checkpoint-every", a.checkpoint_every,
                 "Steps from state to state; 0: only at the end")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--stop-file", a.stop_file, "It stops if this file is in its folder")
      ->capture_default_str();
  app.add_flag("--quiet", a.is_quiet, "Say nothing if all is well");
}

CLI::App* declare_fluid(CLI::App& app, Arguments& a) {
  CLI::App* fluid = app.add_subcommand("fluid", "Lennard-Jones particles, periodic");
  const std::map<std::string, md::FluidForce> forces = {
      {"truncated", md::FluidForce::kTruncated},
      {"shifted-force", md::FluidForce::kShiftedForce},
      {"repulsive", md::FluidForce::kRepulsive}};
  fluid->add_option("--atoms", a.fluid.atoms, "Their number")->capture_default_str();
  fluid->add_option("--density", a.fluid.density, "Atoms per sigma^3")->capture_default_str();
  fluid->add_option("--temperature", a.fluid.temperature, "In epsilon")->capture_default_str();
  fluid->add_option("--cutoff", a.fluid.cutoff, "In sigma")->capture_default_str();
  fluid->add_option("--force", a.fluid.force, "How the potential ends at the cutoff")
      ->transform(CLI::CheckedTransformer(forces, CLI::ignore_case));
  fluid->add_option("--ensemble", a.ensemble, "nvt, or nve: no thermostat after equilibration")
      ->capture_default_str()
      ->check(CLI::IsMember({"nvt", "nve"}));
  declare_common(*fluid, a);
  return fluid;
}

CLI::App* declare_electrolyte(CLI::App& app, Arguments& a) {
  CLI::App* ions = app.add_subcommand("electrolyte", "Ions between two charged walls");
  md::ElectrolyteSettings& e = a.electrolyte;
  ions->add_option("--slit", e.slit_nm, "Distance of the walls, nm")->capture_default_str();
  ions->add_option("--concentration", e.concentration, "Of the salt, mol/l")->capture_default_str();
  ions->add_option("--surface-charge", e.surface_charge, "Of each wall, C/m^2, 0 or negative")
      ->capture_default_str();
  ions->add_option("--positive-valency", e.positive_valency, "1 to 4")->capture_default_str();
  ions->add_option("--negative-valency", e.negative_valency, "-4 to -1")->capture_default_str();
  ions->add_option("--positive-diameter", e.positive_diameter_nm, "nm")->capture_default_str();
  ions->add_option("--negative-diameter", e.negative_diameter_nm, "nm")->capture_default_str();
  ions->add_option("--side", e.side_nm, "Of the box, nm; 0: 10 above 0.5 mol/l, else 15")
      ->capture_default_str();
  ions->add_option("--permittivity", e.permittivity, "Of the solvent")->capture_default_str();
  ions->add_option("--kelvin", e.kelvin, "Temperature")->capture_default_str();
  ions->add_option("--bin-width", a.simulation.bin_width, "Of the profile, in ion diameters")
      ->capture_default_str();
  ions->add_option("--points", a.points,
                   "Points of the profile from wall to wall, by interpolation; 0: its bins")
      ->check(CLI::Range(0, 100000));
  ions->add_flag("--fold", a.simulation.is_folded,
                 "The profile goes from the middle to a wall, as a mean of both halves");
  declare_common(*ions, a);
  return ions;
}

int simulate(const Arguments& a, const md::System& system) {
  const std::filesystem::path folder = a.folder;
  std::filesystem::create_directories(folder);
  const RunLock lock(folder);
  md::Simulation simulation(system, a.simulation, folder);
  const std::int64_t first = simulation.step();
  const SteadyClock clock;
  const double started = clock.now_seconds();
  const bool is_done = simulation.advance(
      {.until = a.until, .checkpoint_every = a.checkpoint_every, .is_stop_requested = [&] {
         return caught_signal != 0 || std::filesystem::exists(folder / a.stop_file);
       }});
  const double taken = clock.now_seconds() - started;
  simulation.write_results(a.points);
  if (!a.is_quiet) {
    std::cout << "steps " << first << " to " << simulation.step() << " of "
              << simulation.system().particles() << " particles in " << taken << " s"
              << (is_done ? "" : ", stopped early") << "\n";
  }
  return caught_signal != 0 ? 128 + caught_signal : 0;
}

int run(const Arguments& a, bool is_fluid) {
  try {
    return simulate(a, is_fluid ? md::make_fluid(a.fluid) : md::make_electrolyte(a.electrolyte));
  } catch (const md::Diverged& diverged) {
    std::cerr << "scavenger-md: diverged: " << diverged.what() << "; use a shorter --time-step\n";
    return kDiverged;
  }
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  using namespace scavenger;
  CLI::App app(
      "Simulates a fluid, or an electrolyte between charged walls. Goes on from the state "
      "in its folder.",
      "scavenger-md");
  app.set_version_flag("--version", version_line("scavenger-md"));
  app.require_subcommand(1);
  Arguments arguments;
  const CLI::App* fluid = declare_fluid(app, arguments);
  declare_electrolyte(app, arguments);
  if (const auto exit_code = parse_command_line(app, argc, argv)) return *exit_code;
  start_log("md", LogLevel::kWarning);
  std::signal(SIGTERM, note_signal);
  std::signal(SIGINT, note_signal);
  if (std::signal(SIGHUP, note_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // under nohup
  return run_user_program("scavenger-md", [&] {
    arguments.simulation.motion.constant_energy = arguments.ensemble == "nve";
    return run(arguments, fluid->parsed());
  });
}
