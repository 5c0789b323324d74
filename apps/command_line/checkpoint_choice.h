// --checkpoint, of the programs that read a trained model.
#pragma once

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "elastic/evaluation/chosen_checkpoint.h"

namespace scavenger {

// What `choice` holds stays if the option is not given.
inline void declare_checkpoint_choice(CLI::App& app, std::string& choice) {
  app.add_option("--checkpoint", choice,
                 "Which one: best (the last one where there is no best), last, or its iteration")
      ->capture_default_str();
}

// Damaged checkpoints that are passed over are told on standard error.
inline LoadedCheckpoint read_chosen_checkpoint(const std::string& run, const std::string& choice,
                                               const char* program) {
  return elastic::read_chosen_checkpoint(
      elastic::open_run_folder(run), choice,
      [&](const Error& error) { std::cerr << program << ": " << error.what() << "\n"; });
}

}  // namespace scavenger
