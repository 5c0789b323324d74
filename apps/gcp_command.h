// scavenger-ctl gcp: what jobs have on Compute Engine, and removing it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace scavenger {

class GcpCommand final {
 public:
  // Adds `gcp list` and `gcp sweep` to the program.
  explicit GcpCommand(CLI::App& app);

  bool is_called() const;
  // The exit code. Throws Error.
  int run() const;

 private:
  void add_options(CLI::App& command);

  CLI::App* command_ = nullptr;
  CLI::App* sweep_ = nullptr;
  std::filesystem::path source_;  // a run folder, or a configuration
  std::string job_;
  std::vector<std::string> zones_;
  bool is_certain_ = false;  // do not ask
};

}  // namespace scavenger
