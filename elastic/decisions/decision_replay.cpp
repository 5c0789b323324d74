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
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"
#include "runtime/base/version.h"
#include "runtime/config/config_file.h"

namespace scavenger::elastic {
namespace {

using nlohmann::json;

std::string name_of_build(const std::string& version, const std::string& commit) {
  return fmt::format("version {} ({})", version, commit);
}

// Who wrote the lines that follow, where that is another build than this one; else nothing.
std::string other_build(const json& begin) {
  const std::string here = name_of_build(version(), commit());
  if (!begin.contains("version"))
    return fmt::format("a version that did not leave its name; this is {}", here);
  const std::string there =
      name_of_build(begin.at("version").get<std::string>(), begin.at("commit").get<std::string>());
  return there == here ? "" : fmt::format("{}; this is {}", there, here);
}

json without_announcements(const json& actions) {
  json rest = json::array();
  for (const json& action : actions)
    if (action.at(0) != "announce") rest.push_back(action);
  return rest;
}

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
    other_build_ = other_build(written);
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
    decided = without_announcements(
        parse_json(json_text(decided, {.broken_utf8 = BrokenUtf8::kReplace})));
    const json recorded = without_announcements(line.at("actions"));
    if (decided == recorded) {
      result_.decisions += decided.size();
      return;
    }
    differs_ = true;
    result_.differences.push_back(fmt::format("{}: decided {}, and the log has {}{}", where,
                                              json_text(decided), json_text(recorded), author()));
  }

  // For the end of a difference.
  std::string author() const {
    return other_build_.empty() ? "" : fmt::format(" (written by {})", other_build_);
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
  std::string other_build_;
  bool differs_ = false;
  std::string torn_;
  ReplayedDecisions result_;
};

}  // namespace

ReplayedDecisions replay_decisions(const std::filesystem::path& run_folder) {
  const std::filesystem::path path = decision_file(run_folder);
  if (!std::filesystem::exists(path))
    throw InputError({.what = "cannot be read",
                      .where = path.string(),
                      .remedy = "name the folder of a run of scavenger-train"});
  open_regular_file(path);  // who opened a pipe would wait
  std::ifstream file(path);
  Replay replay;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number)
    if (!line.empty()) replay.add(line, fmt::format("{}:{}", path.string(), number));
  return replay.result();
}

}  // namespace scavenger::elastic
