// `scavenger-plan prices`: what machines of Compute Engine cost, and a catalogue with today's
// prices.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace scavenger {

class PriceCommand final {
 public:
  explicit PriceCommand(CLI::App& app);

  bool is_called() const { return command_->parsed(); }
  // Throws InputError for what is no catalogue, no region of it, or no machine type of that.
  int run() const;

 private:
  CLI::App* command_ = nullptr;
  std::filesystem::path catalog_;  // empty: the built-in one
  std::string region_ = "us-central1";
  std::vector<std::string> machine_types_;
  std::filesystem::path refreshed_;  // the file to write
  std::filesystem::path key_file_;
  std::string endpoint_ = "https://cloudbilling.googleapis.com";
};

}  // namespace scavenger
