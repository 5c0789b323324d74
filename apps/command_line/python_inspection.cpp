#include "apps/command_line/python_inspection.h"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/config/config_file.h"
#include "runtime/net/spawn.h"
#include "runtime/process/command.h"

namespace scavenger {
namespace {

// Python may read its modules from a slow disk, and a data set may index its files.
constexpr double kLimitSeconds = 600.0;
constexpr const char* kRemedy =
    "try it by hand: python3 -c \"import scavenger; scavenger.check('FILE')\"";

CommandResult ask(const std::filesystem::path& program, const JobConfig& config) {
  asio::io_context io;
  CommandResult result;
  std::exception_ptr failure;
  const auto run = [&]() -> awaitable<void> {
    std::vector<std::string> words = {program.string(), "inspect"};
    result = co_await run_command(std::move(words), json_text(to_json(config)), kLimitSeconds);
  };
  asio::co_spawn(io, run(), [&](std::exception_ptr error) { failure = std::move(error); });
  io.run();
  if (failure) std::rethrow_exception(failure);
  return result;
}

// The user sees Python's own words first. The last line says what was wrong.
[[noreturn]] void throw_failure(const CommandResult& result, const JobConfig& config) {
  std::cerr << result.output;
  throw InputError({.what = result.is_late ? fmt::format("it took more than {} s", kLimitSeconds)
                                           : result.last_line(),
                    .where = config.model.path.string(),
                    .remedy = kRemedy});
}

void take_size(std::uint64_t found, std::uint64_t first, const char* place,
               DataSourceConfig& source) {
  if (source.samples != 0 && source.samples != found)
    throw ConfigError({.what = fmt::format("the data set has {} samples, and had {} when the job "
                                           "began",
                                           found, source.samples),
                       .where = place,
                       .remedy = "give make_dataset() the same samples, or begin a new job"});
  source.samples = found;
  source.first_sample = first;
}

}  // namespace

void inspect_python_model(const std::filesystem::path& program_folder, JobConfig& config) {
  if (config.model.type != ModelType::kPython) return;
  const CommandResult result = ask(program_folder / "scavenger-python-worker", config);
  if (!result.succeeded()) throw_failure(result, config);
  const auto answer = nlohmann::json::parse(result.last_line(), nullptr, false);
  if (!answer.is_object()) throw_failure(result, config);
  if (config.data.train.format != DataFormat::kPython) return;
  const std::uint64_t train = answer.value("train_samples", std::uint64_t{0});
  take_size(train, 0, "data.train", config.data.train);
  take_size(answer.value("test_samples", std::uint64_t{0}), train, "data.test", config.data.test);
}

}  // namespace scavenger
