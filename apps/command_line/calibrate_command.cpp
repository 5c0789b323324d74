#include "apps/command_line/calibrate_command.h"

#include <fmt/format.h>

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <iostream>

#include "elastic/coordinator/job/host.h"
#include "elastic/providers/job_provider.h"
#include "elastic/vms/vm_calibration.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/config/config_file.h"
#include "runtime/net/asio.h"
#include "runtime/process/child_process.h"

namespace scavenger {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kTailBytes = 2000;

// A folder that is not there yet: runs/calibrate-TYPE, or with -2, -3, ... behind it.
fs::path free_folder(const fs::path& parent, const std::string& type) {
  fs::path folder = parent / ("calibrate-" + type);
  for (int i = 2; fs::exists(folder); ++i)
    folder = parent / fmt::format("calibrate-{}-{}", type, i);
  return folder;
}

// Waits for it; signals that would end this process go to the job, which ends in order.
ExitStatus run_job(const fs::path& config, const fs::path& run, const fs::path& log) {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "scavenger-train";
  asio::io_context io;
  boost::asio::signal_set signals(io, SIGINT, SIGTERM, SIGHUP);
  ExitStatus end;
  ChildProcess job(io,
                   {.program = program,
                    .arguments = {config, "--run", run, "--quiet"},
                    .standard_input = {},
                    .log = log},
                   [&](ExitStatus status) {
                     end = status;
                     signals.cancel();
                   });
  std::function<void()> forward = [&] {
    signals.async_wait([&](const boost::system::error_code& error, int number) {
      if (error) return;
      job.signal(number);
      forward();
    });
  };
  forward();
  io.run();
  return end;
}

}  // namespace

CalibrateCommand::CalibrateCommand(CLI::App& app) {
  command_ = app.add_subcommand("calibrate", "Measure a machine type once, for all jobs");
  command_->add_option("TYPE", type_, "Of the provider's machines, such as n2d-standard-8")
      ->required();
  command_->add_option("CONFIG", config_, "A configuration of a job with this provider")
      ->required()
      ->check(CLI::ExistingFile);
  command_->add_option("--calibrations", calibrations_, "The file that keeps it")
      ->capture_default_str();
  command_->add_option("--folder", folder_, "What holds the run folders")->capture_default_str();
}

int CalibrateCommand::run() const {
  const JobConfig job = load_job_config(config_, {}, DataFiles::kNotChecked);
  const MachineCatalogue catalogue =
      elastic::provider_factory(job.provider.type).catalogue(job, elastic::usable_cores());
  const std::string standard = elastic::calibration_job(job, catalogue, type_);
  elastic::try_calibrations(calibrations_);  // before it costs
  const fs::path run = free_folder(folder_, type_);
  fs::path config = run, log = run;
  config += ".json";
  log += ".log";
  fs::create_directories(folder_);
  write_file_atomically(config, standard);
  std::cout << fmt::format("one VM of {} trains the standard job in {}\n", type_, run.string())
            << std::flush;
  const ExitStatus end = run_job(config, run, log);
  if (end.signal != 0 || end.code != 0) {
    std::string tail = log_tail(log, kTailBytes);
    while (tail.ends_with('\n')) tail.pop_back();
    std::cerr << fmt::format("scavenger-ctl: {}: nothing was kept, for the job ended with {}: {}\n",
                             run.string(), end.text(), tail);
    return end.signal != 0 ? 1 : end.code;
  }
  const elastic::Calibration measured = elastic::read_calibration_run(run, type_);
  elastic::keep_calibration(calibrations_, measured);
  std::cout << fmt::format("{}: {:.6g} samples per second, kept in {}\n", type_,
                           measured.samples_per_second, calibrations_.string());
  return 0;
}

}  // namespace scavenger
