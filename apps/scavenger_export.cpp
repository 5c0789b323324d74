// scavenger-export: writes a trained model's weights to a file for Python.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <string>

#include "apps/command_line/checkpoint_choice.h"
#include "apps/command_line/command_line.h"
#include "apps/command_line/user_program.h"
#include "elastic/coordinator/job/run_folder.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/checkpoint/weights_export.h"
#include "runtime/config/config_file.h"
#include "runtime/torch/imported/torchscript_export.h"

namespace scavenger {
namespace {

struct Arguments {
  std::string run;
  std::string file;
  std::string checkpoint = "best";
};

void declare(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", version_line("scavenger-export"));
  app.add_option("RUN", arguments.run, "The job's run folder")->required();
  app.add_option("FILE", arguments.file,
                 "What to write: .safetensors, or .pt for a model that came as TorchScript")
      ->required();
  declare_checkpoint_choice(app, arguments.checkpoint);
}

void write(const Arguments& arguments) {
  const elastic::RunFolder folder = elastic::open_run_folder(arguments.run);
  const JobConfig config = read_resolved_config(folder.config());
  const Checkpoint checkpoint =
      read_chosen_checkpoint(arguments.run, arguments.checkpoint, "scavenger-export").content;
  const std::filesystem::path file = arguments.file;
  if (file.extension() == ".safetensors") {
    FrozenWeights frozen;
    if (!config.model.freeze.empty()) frozen = {config.model.start.weights, config.model.freeze};
    export_safetensors(checkpoint, frozen, file);
  } else if (config.model.type == ModelType::kTorchScript) {
    export_torchscript(config.model.path, checkpoint, file);
  } else {
    throw InputError({.what = "only a model that came as TorchScript can be written as such",
                      .where = file.string(),
                      .remedy = "give the file the ending .safetensors; docs/models.md shows how "
                                "Python loads it"});
  }
  std::cout << "wrote iteration " << checkpoint.iteration << " of " << config.name << " to "
            << file.string() << "\n";
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  using namespace scavenger;
  CLI::App app("Writes the weights of a trained model to a file for Python.", "scavenger-export");
  Arguments arguments;
  declare(app, arguments);
  if (const auto exit_code = parse_command_line(app, argc, argv)) return *exit_code;
  start_log("export", LogLevel::kWarning);
  return run_user_program("scavenger-export", [&] {
    write(arguments);
    return 0;
  });
}
