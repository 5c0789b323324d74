#include "elastic/decisions/decision_replay.h"

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "elastic/control/controller.h"
#include "elastic/decisions/controller_json.h"
#include "elastic/decisions/decision_log.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/config/config_file.h"

namespace scavenger::elastic {
namespace {

using nlohmann::json;

class Replay final {
 public:
  void add(const std::string& line, const std::string& where) {
    const std::optional<json> document = try_parse_json(line);
    if (!document) {  // right, where a process was killed as it wrote
      torn_ = where;
      return;
    }
    const bool begins = document->contains("begin");
    if ((!torn_.empty() && !begins) || (!controller_ && !begins))
      throw InputError({.what = "this line is damaged",
                        .where = torn_.empty() ? where : torn_,
                        .remedy = "only the last line before a resume may be incomplete"});
    torn_.clear();
    try {
      begins ? begin(document->at("begin"), where) : step(*document, where);
    } catch (const json::exception& error) {
      throw InputError({.what = error.what(), .where = where, .remedy = "the line is damaged"});
    }
  }

  const ReplayedDecisions& result() const { return result_; }

 private:
  void begin(const json& written, const std::string& where) {
    const JobConfig config = parse_resolved_config(json_text(written.at("config")), where);
    controller_.emplace(controller_plan_from(written.at("plan"), config, where),
                        written.at("seconds").get<double>());
    differs_ = false;
  }

  void step(const json& line, const std::string& where) {
    if (differs_) return;  // all that follows would
    json decided = json::array();
    for (const json& input : line.at("inputs")) {
      if (input.at(1) == kIterationsDoneBy) {
        step_for_ranks(input, decided);
        continue;
      }
      ++result_.inputs;
      const auto event = controller_event_from(json(input.begin() + 1, input.end()), where);
      for (const ControllerAction& action : controller_->step(event, input.at(0).get<double>()))
        decided.push_back(to_json(action));
    }
    // As a reader sees it.
    decided = parse_json(json_text(decided, {.broken_utf8 = BrokenUtf8::kReplace}));
    if (decided == line.at("actions")) {
      result_.decisions += decided.size();
      return;
    }
    differs_ = true;
    result_.differences.push_back(fmt::format("{}: decided {}, and the log has {}", where,
                                              json_text(decided), json_text(line.at("actions"))));
  }

  void step_for_ranks(const json& input, json& decided) {
    const auto first = input.at(2).get<std::uint32_t>(), last = input.at(3).get<std::uint32_t>();
    for (std::uint32_t rank = first; rank <= last; ++rank) {
      ++result_.inputs;
      const IterationsDone event{rank, input.at(4).get<std::uint64_t>()};
      for (const ControllerAction& action : controller_->step(event, input.at(0).get<double>()))
        decided.push_back(to_json(action));
    }
  }

  std::optional<Controller> controller_;
  bool differs_ = false;
  std::string torn_;
  ReplayedDecisions result_;
};

}  // namespace

ReplayedDecisions replay_decisions(const std::filesystem::path& run_folder) {
  const std::filesystem::path path = decision_file(run_folder);
  std::ifstream file(path);
  if (!file)
    throw InputError({.what = "cannot be read",
                      .where = path.string(),
                      .remedy = "name the folder of a run of scavenger-train"});
  Replay replay;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number)
    if (!line.empty()) replay.add(line, fmt::format("{}:{}", path.string(), number));
  return replay.result();
}

}  // namespace scavenger::elastic
