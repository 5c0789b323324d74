// scavenger-plan prices: what machines of Google Compute Engine cost, and a newer catalog.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace scavenger {

class PriceCommand final {
 public:
  // Adds `prices` to the program.
  explicit PriceCommand(CLI::App& app);

  bool is_called() const;
  // The exit code. Throws Error.
  int run() const;

 private:
  int show() const;
  int refresh() const;

  CLI::App* command_ = nullptr;
  std::filesystem::path catalog_;  // empty: the built-in one
  std::string region_ = "us-central1";
  std::vector<std::string> machine_types_;
  std::filesystem::path refreshed_;  // the file to write
  std::filesystem::path key_file_;
  std::string endpoint_ = "https://cloudbilling.googleapis.com";
};

}  // namespace scavenger
