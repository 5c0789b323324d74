// What looks on while scavenger-train works, where the user asks for it: docs/page.md.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elastic/page/live_page.h"
#include "elastic/page/tensorboard_mirror.h"

namespace scavenger {

struct OnlookerOptions {
  std::optional<std::uint16_t> serve;  // port; 0: any
  std::string address = "127.0.0.1";
  std::string token_file;
  bool tensorboard = false;
};

void declare_onlookers(CLI::App& app, OnlookerOptions& options);

// The port after --serve may be left out, which a command line with other words after it does not
// say by itself: "--serve 8080" becomes "--serve=8080", "--serve" "--serve=0". In the order that
// CLI::App::parse() wants.
std::vector<std::string> arguments_with_serve(int argc, char** argv);

// Make them before the job runs, and keep them until it has ended.
struct Onlookers {
  std::unique_ptr<elastic::LivePage> page;
  std::unique_ptr<elastic::TensorboardMirror> tensorboard;
};

// Prints the page's address, which holds its token, on standard output.
Onlookers start_onlookers(const OnlookerOptions& options, const std::filesystem::path& run_folder);

}  // namespace scavenger
