#include "apps/command_line/python_inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/command_line/python_program.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/config/config_file.h"

namespace scavenger {
namespace {

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

// The schema checks what Python has read off the optimizer.
void take_optimizer(const nlohmann::json& answer, JobConfig& config) {
  if (config.optimizer.type != OptimizerType::kPython) return;
  nlohmann::ordered_json document = nlohmann::ordered_json::parse(json_text(to_json(config)));
  for (const auto& [key, value] : answer.at("optimizer").items())
    document["optimizer"][key] = value;
  config = parse_resolved_config(document.dump(), "make_optimizer()");
}

// Workers import the same libraries as the inspection, all at once, and maybe from a slow disk.
void allow_imports(double inspection_seconds, JobConfig& config) {
  constexpr double kTimes = 10.0;
  double& limit = config.limits.start_seconds;
  limit = std::max(limit, std::ceil(kTimes * inspection_seconds));
}

}  // namespace

void inspect_python_model(const std::filesystem::path& program_folder, JobConfig& config) {
  if (config.model.type != ModelType::kPython) return;
  const auto begin = std::chrono::steady_clock::now();
  const CommandResult result = ask_python(program_folder, "inspect", json_text(to_json(config)));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  if (!result.succeeded()) throw_python_failure(result, config.model.path);
  const auto answer = nlohmann::json::parse(result.last_line(), nullptr, false);
  if (!answer.is_object()) throw_python_failure(result, config.model.path);
  take_optimizer(answer, config);
  allow_imports(taken.count(), config);
  if (!is_python(config.data.train.format)) return;
  const std::uint64_t train = answer.value("train_samples", std::uint64_t{0});
  take_size(train, 0, "data.train", config.data.train);
  take_size(answer.value("test_samples", std::uint64_t{0}), train, "data.test", config.data.test);
}

}  // namespace scavenger
