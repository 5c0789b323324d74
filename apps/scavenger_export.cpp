// scavenger-export: writes a trained model's weights to a file for Python.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "apps/command_line/checkpoint_choice.h"
#include "apps/command_line/command_line.h"
#include "apps/command_line/python_export.h"
#include "apps/command_line/user_program.h"
#include "elastic/coordinator/job/run_folder.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"
#include "runtime/checkpoint/weights_export.h"
#include "runtime/config/config_file.h"

namespace scavenger {
namespace {

struct Arguments {
  std::string run;
  std::string file;
  std::string checkpoint = "best";
  std::string to;
};

constexpr const char* kSafetensors = "safetensors";
constexpr const char* kTorchScript = "torchscript";
constexpr const char* kPyTorch = "pytorch";
constexpr const char* kOnnx = "onnx";

void declare(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", version_line("scavenger-export"));
  app.add_option("RUN", arguments.run, "The job's run folder")->required()->check(kNamed);
  app.add_option("FILE", arguments.file,
                 "What to write: .safetensors; of a model in Python also .pt or .onnx; .pt of one "
                 "that came as TorchScript")
      ->required();
  app.add_option("--to", arguments.to,
                 "The form, where the file's ending does not say it: safetensors, pytorch (a "
                 "state_dict), onnx or torchscript")
      ->check(CLI::IsMember({kSafetensors, kPyTorch, kOnnx, kTorchScript}));
  declare_checkpoint_choice(app, arguments.checkpoint);
}

std::filesystem::path program_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

// The form of the file: as --to says, or else by its ending.
std::string form_of(const Arguments& arguments, ModelType type) {
  if (!arguments.to.empty()) return arguments.to;
  const std::string ending = std::filesystem::path(arguments.file).extension();
  if (ending == ".safetensors") return kSafetensors;
  if (ending == ".onnx") return kOnnx;
  if (type == ModelType::kTorchScript) return kTorchScript;
  if (ending == ".pt" || ending == ".pth") return kPyTorch;
  throw InputError({.what = "the file's ending does not say what to write",
                    .where = arguments.file,
                    .remedy = "end it in .safetensors, .pt or .onnx, or give --to"});
}

// By scavenger-predict, which has LibTorch and is beside us.
[[noreturn]] void write_torchscript(const Arguments& arguments) {
  const std::string program = program_folder() / "scavenger-predict";
  std::vector<std::string> words = {program,        arguments.run,  "--torchscript",
                                    arguments.file, "--checkpoint", arguments.checkpoint};
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  throw SystemError(errno, {.what = "cannot be started, and writes TorchScript",
                            .where = program,
                            .remedy = "build or install all programs of Scavenger"});
}

void write(const Arguments& arguments) {
  const elastic::RunFolder folder = elastic::open_run_folder(arguments.run);
  const JobConfig config = read_resolved_config(folder.config());
  const Checkpoint checkpoint =
      read_chosen_checkpoint(arguments.run, arguments.checkpoint, "scavenger-export").content;
  const std::filesystem::path file = arguments.file;
  const std::string form = form_of(arguments, config.model.type);
  if (form == kSafetensors) {
    FrozenWeights frozen;
    if (!config.model.freeze.empty()) frozen = {config.model.start.weights, config.model.freeze};
    export_safetensors(checkpoint, frozen, file);
  } else if (form == kTorchScript) {
    if (config.model.type != ModelType::kTorchScript)
      throw InputError({.what = "only a model that came as TorchScript can be written as such",
                        .where = file.string(),
                        .remedy = "give the file the ending .safetensors; docs/models.md shows how "
                                  "Python loads it"});
    write_torchscript(arguments);
  } else if (config.model.type == ModelType::kPython) {
    export_from_python(program_folder(), config, checkpoint, form, file);
  } else {
    throw InputError({.what = fmt::format("only a model in Python can be written as {}", form),
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
