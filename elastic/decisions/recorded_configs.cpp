#include "elastic/decisions/recorded_configs.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "elastic/decisions/decision_log.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"
#include "runtime/config/config_file.h"
#include "runtime/schema/input_file.h"

namespace scavenger::elastic {
namespace {

// The line with which each process begins; the others are many.
constexpr const char* kBegin = "{\"begin\":";

}  // namespace

RecordedConfigs::RecordedConfigs(const std::filesystem::path& run_folder) {
  const std::filesystem::path config = run_folder / "config.json";
  last_ = parse_resolved_config(
      read_input_file(config, "name the folder of a run of scavenger-train"), config.string());
  const std::filesystem::path path = decision_file(run_folder);
  if (!std::filesystem::exists(path)) return;
  open_regular_file(path);  // a pipe would block
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (!line.starts_with(kBegin)) continue;
    const auto document = try_parse_json(line);
    if (!document) continue;  // a process was killed as it wrote it, and logged nothing
    const std::string where = fmt::format("{}:{}", path.string(), number);
    try {
      const nlohmann::json& begin = document->at("begin");
      recorded_.push_back({begin.value("config_digest", ""),
                           parse_resolved_config(json_text(begin.at("config")), where)});
    } catch (const nlohmann::json::exception& error) {
      throw InputError({.what = error.what(), .where = where, .remedy = "the line is damaged"});
    }
  }
}

bool RecordedConfigs::any(bool (*holds)(const JobConfig&)) const {
  return holds(last_) || std::ranges::any_of(recorded_, holds, &Recorded::config);
}

// A process that was killed before its `start` event has left a configuration that no event
// belongs to.
ConfigOf RecordedConfigs::in_order() const {
  return [configs = *this,
          next = std::size_t{0}](const fact::Start& start) mutable -> const JobConfig& {
    const std::vector<Recorded>& recorded = configs.recorded_;
    if (next == recorded.size()) return configs.last_;
    const auto rest = recorded.begin() + static_cast<std::ptrdiff_t>(next);
    const auto is_its = [&](const Recorded& one) { return one.digest == start.config_digest; };
    auto found = rest->digest.empty() ? rest : std::find_if(rest, recorded.end(), is_its);
    if (found == recorded.end()) found = rest;
    next = static_cast<std::size_t>(found - recorded.begin()) + 1;
    return found->config;
  };
}

}  // namespace scavenger::elastic
