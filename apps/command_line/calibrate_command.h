// `scavenger-ctl calibrate TYPE CONFIG`: one VM of a machine type runs the standard job, and a file
// keeps what it does.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

namespace scavenger {

class CalibrateCommand final {
 public:
  explicit CalibrateCommand(CLI::App& app);

  bool is_called() const { return command_->parsed(); }
  // Blocks until the job has ended. Ctrl-C ends the job, which returns its machine.
  int run() const;

 private:
  CLI::App* command_ = nullptr;
  std::string type_;
  std::filesystem::path config_;
  std::filesystem::path calibrations_ = "calibrations.csv";
  std::filesystem::path folder_ = "runs";  // of the run folder
};

}  // namespace scavenger
