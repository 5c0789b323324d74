#include "apps/command_line/python_inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "apps/command_line/python_program.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/config/config_file.h"

namespace scavenger {
namespace {

nlohmann::ordered_json answer_of(const std::filesystem::path& program_folder,
                                 PythonQuestion question, const std::filesystem::path& file,
                                 const std::string& remedy) {
  const CommandResult result = ask_python(program_folder, std::move(question));
  if (!result.succeeded()) throw_python_failure(result, file, remedy);
  auto answer = try_parse_json<nlohmann::ordered_json>(result.last_line());
  if (!answer || !answer->is_object()) throw_python_failure(result, file, remedy);
  return std::move(*answer);
}

nlohmann::ordered_json describe(const std::filesystem::path& program_folder,
                                const std::filesystem::path& script,
                                std::span<const std::string> arguments) {
  const nlohmann::json input = {
      {"file", std::filesystem::absolute(script).lexically_normal().string()},
      {"arguments", std::vector<std::string>(arguments.begin(), arguments.end())}};
  return answer_of(program_folder,
                   {"describe", json_text(input),
                    script.string() + " has not come to its loop over scavenger.loader() yet"},
                   script, "");
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

// The schema checks what Python has read off the optimizer.
void take_optimizer(const nlohmann::ordered_json& answer, JobConfig& config) {
  if (config.optimizer.type != OptimizerType::kPython) return;
  auto document = parse_json<nlohmann::ordered_json>(json_text(to_json(config)));
  for (const auto& [key, value] : answer.at("optimizer").items())
    document["optimizer"][key] = value;
  if (answer.at("optimizer").at("type") == "python") document["sync"]["strategy"] = "all_reduce";
  config = parse_resolved_config(json_text(document), "make_optimizer()");
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
  const SteadyClock clock;
  const double begin = clock.now_seconds();
  std::uint64_t train = 0;
  std::uint64_t test = 0;
  if (config.model.has_own_loop) {
    const auto data =
        describe(program_folder, config.model.path, config.model.arguments).at("data");
    train = data.at("train").at("samples").get<std::uint64_t>();
    test = data.at("test").at("samples").get<std::uint64_t>();
  } else {
    const auto answer =
        answer_of(program_folder,
                  {"inspect", json_text(to_json(config)),
                   config.model.path.string() + " has not made its model and data sets yet"},
                  config.model.path, try_by_hand(config.model.path));
    take_optimizer(answer, config);
    train = answer.value("train_samples", std::uint64_t{0});
    test = answer.value("test_samples", std::uint64_t{0});
  }
  allow_imports(clock.now_seconds() - begin, config);
  if (!is_python(config.data.train.format)) return;
  take_size(train, 0, "data.train", config.data.train);
  take_size(test, train, "data.test", config.data.test);
}

bool is_script(const std::filesystem::path& path) {
  return path.extension() == ".py";
}

JobConfig config_of_script(const std::filesystem::path& program_folder,
                           const std::filesystem::path& script,
                           std::span<const std::string> arguments,
                           std::span<const std::string> overrides) {
  if (!std::filesystem::exists(script))  // Python would import PyTorch before it said so
    throw InputError({.what = "there is no such script",
                      .where = script.string(),
                      .remedy = "name a configuration (.json) or a Python script that is there"});
  const auto text = json_text(describe(program_folder, script, arguments));
  const std::filesystem::path folder = std::filesystem::absolute(script).parent_path();
  return job_config_from_text(text, "what " + script.string() + " says", folder, overrides);
}

}  // namespace scavenger
