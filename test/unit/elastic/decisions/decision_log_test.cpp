#include "elastic/decisions/decision_log.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <sstream>

#include "elastic/decisions/controller_json.h"
#include "elastic/decisions/decision_replay.h"
#include "runtime/base/error.h"
#include "runtime/base/version.h"
#include "test/support/temporary_folder.h"
#include "test/unit/elastic/decisions/ready_config.h"

namespace scavenger::elastic {
namespace {

using nlohmann::json;

constexpr ProcessName kWorker{Role::kWorker, 1};
constexpr ProcessName kShard{Role::kShard, 0};

std::vector<ControllerEvent> one_of_each_controller_event() {
  ShareRule rule;
  rule.speeds = {{0, 0.1}, {3, 1e-9}};
  rule.overhead_samples = 2.5;
  rule.smallest_share = 2;
  rule.largest_shares = {0, 7};
  rule.learned_bounds = {{3, 12}};
  return {ProcessStarted{kWorker},
          MachineRefused{kWorker, "quota \"x\"", std::nullopt},
          MachineRefused{kWorker, "capacity", 0.1},
          ProcessJoined{kShard},
          ProcessReady{kWorker, 3},
          ProcessHalted{kWorker, UINT64_MAX, true},
          ProcessStuck{kWorker, "it waits"},
          IterationsDone{2, 77},
          EvaluationDone{0.1 + 0.2, {}},
          EvaluationDone{0.1 + 0.2, 0.7},
          CheckpointSafe{},
          CheckpointDone{false, true},
          CheckpointFound{},
          CheckpointFound{40, 640},
          ProcessLost{kWorker, "killed by signal 9", false, true, true},
          ProcessLost{kWorker, "lost its connection", false, false, false, true},
          LossJudged{kWorker, "lost its machine", true},
          JobImpossible{"another model"},
          ProcessLeft{kWorker},
          ProcessLeaving{kWorker, "notice"},
          ReshapeWanted{4, 512, "by hand", 1.0 / 3.0},
          ReshapeWanted{4, 512, "to see", 1.0, true},
          RateFactorWanted{512, 0.1, "less noise"},
          SharesWanted{rule, "unequal"},
          SharePinned{2, 8, "audition"},
          WorkersDismissed{{0, 1}},
          CheckpointWanted{},
          PauseWanted{false},
          Interrupted{"scavenger-ctl"},
          CostMetered{1.0 / 3.0, 2.0, 0.1},
          AllProcessesEnded{},
          TimePassed{}};
}

JobConfig small_config() {
  JobConfig config = ready_config();
  config.stop.max_iterations = 5;
  return config;
}

ControllerPlan small_plan() {
  ControllerPlan plan;
  plan.membership = {1, 10, {5, 5}, 0, 0};
  plan.samples_per_epoch = 100;
  const JobConfig config = small_config();
  plan.stop = config.stop;
  plan.evaluation = config.evaluation;
  plan.checkpoint = config.checkpoint;
  plan.limits = config.limits;
  plan.faults = config.faults;
  return plan;
}

// A controller whose decisions are logged.
class LoggedJob final {
 public:
  explicit LoggedJob(const std::filesystem::path& folder)
      : log_(folder), controller_(small_plan(), 0.0) {
    log_.begin(to_json(small_config()).dump(), small_plan(), 0.0);
  }
  void feed(const ControllerEvent& event) {
    now_ += 0.1;
    const auto actions = controller_.step(event, now_);
    log_.add(event, now_, actions);
    for (const ControllerAction& action : actions)
      if (const auto* grant = std::get_if<GrantIterations>(&action)) granted_ = grant->until;
  }
  void feed_at_once(const ControllerEvent& event) {
    now_ -= 0.1;
    feed(event);
  }
  const std::string& problem() const { return log_.problem(); }
  // From the start to its third iteration.
  void train() {
    const ProcessName workers[] = {{Role::kWorker, 0}, {Role::kWorker, 1}};
    for (const ProcessName& process : {kShard, workers[0], workers[1]})
      feed(ProcessStarted{process});
    for (const ProcessName& process : {kShard, workers[0], workers[1]})
      feed(ProcessJoined{process});
    for (const ProcessName& process : {kShard, workers[0], workers[1]})
      feed(ProcessReady{process, 1});
    for (std::uint64_t count = 1; count <= 3; ++count)
      for (std::uint32_t rank = 0; rank < 2; ++rank) feed(IterationsDone{rank, count});
    REQUIRE(granted_ > 3);
  }

 private:
  DecisionLog log_;
  Controller controller_;
  double now_ = 0.0;
  std::uint64_t granted_ = 0;
};

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<json> lines_of(const std::filesystem::path& path) {
  std::vector<json> lines;
  std::istringstream text(text_of(path));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

// As logs were while the controller announced an interrupt, and did not leave its version.
std::string as_an_older_version(const std::vector<json>& lines) {
  const json told = {"announce", "interrupted: finishing the iteration (again: end at once)"};
  std::string text;
  for (json line : lines) {
    if (line.contains("begin")) {
      line["begin"].erase("version");
      line["begin"].erase("commit");
    } else {
      json& inputs = line["inputs"];
      const auto is_interrupt = [](const json& input) { return input.at(1) == "interrupted"; };
      const auto found = std::ranges::find_if(inputs, is_interrupt);
      if (found != inputs.end() && found + 1 == inputs.end()) {
        line["actions"].insert(line["actions"].begin(), told);
      } else if (found != inputs.end()) {  // what led to an answer ended a line
        const json before(inputs.begin(), found + 1);
        text += json{{"inputs", before}, {"actions", json::array({told})}}.dump() + "\n";
        inputs = json(found + 1, inputs.end());
      }
    }
    text += line.dump() + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("events and actions have the names that decision logs hold") {
  const std::vector<std::string_view> events{
      "process_started",    "machine_refused", "process_joined",      "process_ready",
      "process_halted",     "process_stuck",   "iterations_done",     "evaluation_done",
      "checkpoint_safe",    "checkpoint_done", "checkpoint_found",    "process_lost",
      "job_impossible",     "process_left",    "process_leaving",     "reshape_wanted",
      "rate_factor_wanted", "shares_wanted",   "checkpoint_wanted",   "pause_wanted",
      "interrupted",        "cost_metered",    "all_processes_ended", "time_passed"};
  const std::vector<std::string_view> actions{
      "start_process",   "release_process",  "kill_process",      "halt_processes",
      "find_checkpoint", "configure_shards", "configure_workers", "grant_iterations",
      "evaluate_model",  "take_checkpoint",  "tell_recovery",     "end_processes",
      "end_job",         "announce"};
  for (const std::string_view name : events)
    CHECK(std::ranges::count(kNamesOf<ControllerEvent>, name) == 1);
  for (const std::string_view name : actions)
    CHECK(std::ranges::count(kNamesOf<ControllerAction>, name) == 1);
  CHECK(to_json(ControllerEvent(ProcessLeft{kWorker})).at(0) == "process_left");
  CHECK(to_json(ControllerAction(ReleaseProcess{kWorker})).at(0) == "release_process");
}

TEST_CASE("a decision log that an earlier program wrote is decided again as it was") {
  const ReplayedDecisions replayed = replay_decisions(SCAVENGER_OLD_RUN);
  CHECK(replayed.differences.empty());
  CHECK(replayed.inputs > 40);
  CHECK(replayed.decisions > 10);
}

TEST_CASE("All that a controller can be told is read back as it was") {
  const auto events = one_of_each_controller_event();
  for (std::size_t kind = 0; kind < std::variant_size_v<ControllerEvent>; ++kind)
    CHECK(std::ranges::any_of(events, [&](const auto& event) { return event.index() == kind; }));
  for (const ControllerEvent& event : events) {
    const json written = json::parse(to_json(event).dump());
    CAPTURE(written.dump());
    const ControllerEvent again = controller_event_from(written, "here");
    CHECK(again.index() == event.index());
    CHECK(to_json(again) == to_json(event));
  }
  const auto is_shares = [](const ControllerEvent& event) {
    return std::holds_alternative<SharesWanted>(event);
  };
  const auto shares = std::get<SharesWanted>(*std::ranges::find_if(events, is_shares));
  const auto read = controller_event_from(to_json(ControllerEvent(shares)), "here");
  CHECK(std::get<SharesWanted>(read).rule == shares.rule);
}

TEST_CASE("What is no record of a decision is refused, with its place") {
  for (const char* text :
       {"[]", "{}", "3", R"(["novel"])", R"(["process_joined"])", R"(["process_joined",["a",0]])",
        R"(["time_passed",1])", R"(["iterations_done",1,"two"])"})
    CHECK_THROWS_WITH(controller_event_from(json::parse(text), "there"), Catch::Contains("there"));
}

TEST_CASE("A plan is read back as it was") {
  ControllerPlan plan = small_plan();
  plan.state_home = StateHome::kMemory;
  plan.membership = {4, 12, {5, 7}, 30, 300, 1.5};
  plan.resumes_checkpoint = true;
  plan.seconds_before = 12.25;
  plan.best_score = -0.5;
  plan.early_stop = EarlyStopState{0.25, 20, {30, 40}};
  const ControllerPlan again = controller_plan_from(to_json(plan), small_config(), "here");
  CHECK(to_json(again) == to_json(plan));
  CHECK(again.membership == plan.membership);
  CHECK(again.state_home == StateHome::kMemory);
  CHECK(again.best_score == plan.best_score);
  CHECK(again.early_stop == plan.early_stop);
  CHECK(again.stop.max_iterations == 5);
}

TEST_CASE("What older logs do not have is nothing") {
  const auto event = controller_event_from(json::parse(R"(["evaluation_done",0.5])"), "here");
  CHECK(std::get<EvaluationDone>(event).value == 0.5);
  CHECK_FALSE(std::get<EvaluationDone>(event).stopping_value);
  json plan = to_json(small_plan());
  plan.erase(plan.size() - 1);
  CHECK_FALSE(controller_plan_from(plan, small_config(), "here").early_stop);
}

TEST_CASE("A replay decides the same, over a kill in mid-line and a resume") {
  const TemporaryFolder folder;
  LoggedJob(folder.path()).train();
  const auto once = replay_decisions(folder.path());
  CHECK(once.differences.empty());
  CHECK(once.inputs == 15);
  CHECK(once.decisions >= 5);  // two to configure, the grants

  const auto path = decision_file(folder.path());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 7);
  CHECK(replay_decisions(folder.path()).differences.empty());
  LoggedJob(folder.path()).train();
  const auto twice = replay_decisions(folder.path());
  CHECK(twice.differences.empty());
  CHECK(twice.decisions > once.decisions);
}

TEST_CASE("What only told people something need not be told again") {
  const TemporaryFolder folder;
  {
    LoggedJob job(folder.path());
    job.train();
    job.feed(Interrupted{"Ctrl-C"});
    job.feed(IterationsDone{0, 4});
    job.feed(IterationsDone{1, 4});
  }
  const auto path = decision_file(folder.path());
  const std::vector<json> lines = lines_of(path);
  std::ofstream(path) << as_an_older_version(lines);
  REQUIRE_THAT(text_of(path), Catch::Contains("announce"));

  const auto replayed = replay_decisions(folder.path());

  CAPTURE(text_of(path), replayed.differences);
  CHECK(replayed.differences.empty());
  CHECK(replayed.decisions >= 5);
}

TEST_CASE("Where another build decided otherwise, it is named") {
  const TemporaryFolder folder;
  LoggedJob(folder.path()).train();
  const auto path = decision_file(folder.path());
  const std::string here = fmt::format("version {} ({})", version(), commit());
  const auto difference = [&](const std::function<void(json&)>& change_begin) {
    std::string changed;
    for (json& line : lines_of(path)) {
      if (line.contains("begin")) change_begin(line.at("begin"));
      if (line.contains("actions")) line["actions"] = json::array();
      changed += line.dump() + "\n";
    }
    std::ofstream(path) << changed;
    const auto replayed = replay_decisions(folder.path());
    REQUIRE(replayed.differences.size() == 1);
    return replayed.differences.front();
  };

  CHECK_THAT(difference([](json&) {}), !Catch::Contains("written by"));
  CHECK_THAT(difference([](json& begin) { begin["version"] = "0.0.7"; }),
             Catch::Contains("written by version 0.0.7 (" + commit() + "); this is " + here));
  CHECK_THAT(difference([](json& begin) { begin.erase("version"); }),
             Catch::Contains("written by a version that did not leave its name; this is " + here));
}

TEST_CASE("A pipe is no record: nobody waits for it, and nothing is written to it") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo(decision_file(folder.path()).c_str(), 0600) == 0);

  CHECK_THROWS_WITH(DecisionLog(folder.path()), Catch::Contains("not a regular file"));
  ::alarm(60);  // who opens a pipe waits for one who writes to it
  CHECK_THROWS_WITH(replay_decisions(folder.path()), Catch::Contains("not a regular file"));
  ::alarm(0);
}

TEST_CASE("A log that was changed does not replay, and one that is damaged is refused") {
  const TemporaryFolder folder;
  LoggedJob(folder.path()).train();
  const auto path = decision_file(folder.path());
  const std::string text = text_of(path);
  const auto with = [&](const std::string& what, const std::string& instead) {
    std::string changed = text;
    const auto place = changed.find(what);
    REQUIRE(place != std::string::npos);
    changed.replace(place, what.size(), instead);
    std::ofstream(path) << changed;
  };
  with(R"(["grant_iterations",2])", R"(["grant_iterations",3])");
  const auto replayed = replay_decisions(folder.path());
  REQUIRE(replayed.differences.size() == 1);
  CHECK_THAT(replayed.differences.front(), Catch::Contains("grant_iterations"));
  with(R"("actions")", R"("acti)");
  CHECK_THROWS_AS(replay_decisions(folder.path()), InputError);
  with(R"("process_joined")", R"("process_came")");
  CHECK_THROWS_AS(replay_decisions(folder.path()), InputError);
  CHECK_THROWS_AS(replay_decisions(folder.path() / "no"), InputError);
}

TEST_CASE("Ranks that have done the same are one input, and the replay is the same") {
  const TemporaryFolder folder;
  {
    DecisionLog log(folder.path());
    ControllerPlan plan = small_plan();
    plan.membership = {1, 64, std::vector<std::uint32_t>(64, 1), 0, 0};
    Controller controller(plan, 0.0);
    log.begin(to_json(small_config()).dump(), plan, 0.0);
    double now = 0.0;
    const auto feed = [&](const ControllerEvent& event) {
      log.add(event, now, controller.step(event, now));
    };
    std::vector<ProcessName> processes = {kShard};
    for (std::uint32_t rank = 0; rank < 64; ++rank) processes.push_back({Role::kWorker, rank});
    for (const ProcessName& process : processes) feed(ProcessStarted{process});
    for (const ProcessName& process : processes) feed(ProcessJoined{process});
    for (const ProcessName& process : processes) feed(ProcessReady{process, 1});
    for (std::uint64_t count = 1; count <= 3; ++count) {
      now += 0.025;
      for (std::uint32_t rank = 0; rank < 64; ++rank) feed(IterationsDone{rank, count});
    }
  }
  const std::string text = text_of(decision_file(folder.path()));
  CHECK(text.find(R"("iterations_done_by",0,63,3])") != std::string::npos);
  CHECK(text.find(R"("iterations_done",)") == std::string::npos);
  const ReplayedDecisions replayed = replay_decisions(folder.path());
  CHECK(replayed.differences.empty());
  CHECK(replayed.inputs == 3 * 65 + 3 * 64);
}

TEST_CASE("What would be too much ends the record, and what was recorded replays") {
  const TemporaryFolder folder;
  {
    LoggedJob job(folder.path());
    job.train();
    for (int i = 0; i < 40000; ++i)
      job.feed_at_once(MachineRefused{{Role::kWorker, 0}, std::string(100, 'x'), 1e6});
    CHECK_FALSE(job.problem().empty());
  }
  CHECK(std::filesystem::file_size(decision_file(folder.path())) < 2'100'000);
  CHECK(replay_decisions(folder.path()).differences.empty());
}

}  // namespace scavenger::elastic
