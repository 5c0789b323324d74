// scavenger-campaign: simulates the points of a parameter space on machines that come and go:
// docs/campaigns.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/command_line/command_line.h"
#include "apps/command_line/user_program.h"
#include "campaign/core/bag_plan.h"
#include "campaign/reader/campaign_config_file.h"
#include "campaign/report/report_files.h"
#include "campaign/run/campaign_folder.h"
#include "campaign/run/campaign_run.h"
#include "campaign/run/machine_source.h"
#include "campaign/run/plan_question.h"
#include "campaign/run/progress_lines.h"
#include "elastic/coordinator/end_signals.h"
#include "elastic/coordinator/job/host.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/base/version.h"
#include "runtime/net/asio_loop.h"
#include "runtime/process/run_lock.h"

namespace scavenger {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string config;
  std::string resume;
  std::string replay;
  std::string run;
  std::vector<std::string> overrides;
  std::optional<double> max_cost;
  std::optional<std::uint64_t> max_simulations;
  std::optional<std::uint32_t> machines;
  bool retry_failed = false;
  bool print_config = false;
  bool plan = false;
  double plan_seconds = 0.0;
  std::string like;
  bool quiet = false;
};

void declare(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", version_line("scavenger-campaign"));
  auto* config =
      app.add_option("CONFIG", arguments.config,
                     "What to simulate: a JSON file, see configs/electrolyte_small.json");
  auto* resume =
      app.add_option("--resume", arguments.resume, "Go on with the campaign in this run folder")
          ->check(kNamed);
  config->excludes(resume);
  auto* replay = app.add_option("--replay", arguments.replay,
                                "Check that the log of this run folder leads to its decisions")
                     ->check(kNamed);
  replay->excludes(config)->excludes(resume);
  app.add_option("--run", arguments.run, "The run folder (runs/NAME)")
      ->check(kNamed)
      ->excludes(resume);
  app.add_option("--set", arguments.overrides,
                 "Replaces a value of the configuration: --set machines.count=4")
      ->allow_extra_args(false)
      ->excludes(resume);
  app.add_option("--max-cost", arguments.max_cost, "Dollars, over all resumes (stop.max_cost)")
      ->check(kPositive);
  app.add_option("--max-simulations", arguments.max_simulations,
                 "Points to simulate (stop.max_simulations)")
      ->check(kPositive);
  app.add_option("--machines", arguments.machines, "At once, at most (machines.count)")
      ->check(kPositive);
  app.add_flag("--retry-failed", arguments.retry_failed,
               "With --resume: try the simulations that failed again")
      ->needs(resume);
  app.add_flag("--print-config", arguments.print_config,
               "Print the whole configuration, and simulate nothing")
      ->excludes(resume);
  auto* plan = app.add_flag("--plan", arguments.plan,
                            "Say what the campaign would take and cost, and rent nothing")
                   ->needs(config);
  auto* seconds = app.add_option("--seconds-per-simulation", arguments.plan_seconds,
                                 "With --plan: how long one simulation computes")
                      ->check(kPositive)
                      ->needs(plan);
  app.add_option("--like", arguments.like, "With --plan: a campaign whose simulations took as long")
      ->needs(plan)
      ->excludes(seconds);
  app.add_flag("--quiet", arguments.quiet, "Say nothing if all is well");
  for (const char* const simulating : {"--run", "--set", "--max-cost", "--max-simulations",
                                       "--machines", "--retry-failed", "--print-config"})
    replay->excludes(app.get_option(simulating));
}

fs::path program_folder() {
  return fs::read_symlink("/proc/self/exe").parent_path();
}

campaign::CampaignConfig load(const Arguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (arguments.max_cost) overrides.push_back(fmt::format("stop.max_cost={}", *arguments.max_cost));
  if (arguments.max_simulations)
    overrides.push_back(fmt::format("stop.max_simulations={}", *arguments.max_simulations));
  if (arguments.machines)
    overrides.push_back(fmt::format("machines.count={}", *arguments.machines));
  return campaign::load_campaign_config(arguments.config, overrides);
}

// ---- Running. ----

void watch_signals(asio::signal_set& signals, campaign::CampaignRun& run, bool is_first) {
  signals.async_wait([&, is_first](const boost::system::error_code& error, int signal) {
    if (error) return;
    run.stop(fmt::format("it got the signal {}", ::strsignal(signal)),
             !is_first && elastic::is_pressing(signal));
    watch_signals(signals, run, false);
  });
}

bool has_result(const campaign::Campaign& campaign) {
  return std::ranges::any_of(campaign.simulations(), [](const auto& one) {
    return one.second.state == campaign::SimulationState::kDone;
  });
}

int code_of(const std::string& status, const campaign::Campaign& campaign) {
  if (status == "stopped") return 130;
  return status == "failed" || (status == "finished" && !has_result(campaign)) ? 1 : 0;
}

// What a handler throws ends the campaign in order, so that machines are returned.
void run_until_end(AsioLoop& loop, campaign::CampaignRun& run) {
  for (;;) {
    try {
      loop.run();
      return;
    } catch (const std::exception& error) {
      if (!run.fail(error.what())) throw;
    }
  }
}

void warn_of_free_machines(const campaign::CampaignConfig& config, double max_cost) {
  if (max_cost == 0.0 || config.provider.type != ProviderType::kLocal ||
      config.machines.price_per_hour > 0.0)
    return;
  log_warning(
      "this machine has no price, so max_cost will not end the campaign; set "
      "machines.price_per_hour");
}

int work(const campaign::CampaignFolder& folder, const Arguments& arguments) {
  const RunLock lock(folder.path);  // first: nobody else writes what is read here
  campaign::ReplayedLog log = campaign::replay(folder);
  start_log("campaign", arguments.quiet ? LogLevel::kError : LogLevel::kWarning);
  campaign::CampaignConfig config = log.campaign.config();
  if (arguments.machines) {
    config.machines.count = *arguments.machines;
    campaign::check_machines(config, elastic::usable_cores());
  }
  campaign::require_inputs(folder, config);
  const bool quiet = arguments.quiet;
  asio::io_context io{1};
  const SteadyClock clock;
  AsioLoop loop(io, clock);
  const std::unique_ptr<Provider> provider = campaign::make_provider(
      io, config, {elastic::usable_cores(), program_folder(), folder.path / "provider"});
  campaign::CampaignStart start{folder,
                                std::move(log.campaign),
                                log.seconds,
                                arguments.max_simulations.value_or(config.stop.max_simulations),
                                arguments.max_cost.value_or(config.stop.max_cost),
                                config.machines.count,
                                arguments.retry_failed,
                                program_folder(),
                                {}};
  warn_of_free_machines(config, start.max_cost);
  start.show = [&](const campaign::Campaign& campaign, const campaign::CampaignEvent& event,
                   double seconds) {
    if (std::holds_alternative<campaign::event::Judged>(event))
      campaign::write_report_document(folder, campaign, seconds);
    const std::string line = campaign::progress_line(campaign, event, seconds);
    if (!quiet && !line.empty()) std::cout << line << std::endl;
  };
  campaign::CampaignRun run(io, loop, *provider, std::move(start));
  run.begin();
  asio::signal_set signals(io);
  elastic::add_end_signals(signals);
  watch_signals(signals, run, true);
  run_until_end(loop, run);
  const campaign::action::Finish& finish = run.finish();
  campaign::write_report_document(folder, run.campaign(), run.last_step_seconds());
  campaign::write_report_page(folder, run.campaign(), run.last_step_seconds(), folder.page());
  if (!quiet)
    std::cout << finish.status << ": " << finish.reason << "\n"
              << campaign::summary_text(run.campaign(), run.last_step_seconds())
              << folder.page().string() << std::endl;
  if (finish.status == "failed") std::cerr << "scavenger-campaign: " << finish.reason << "\n";
  if (finish.status == "finished" && !has_result(run.campaign()))
    std::cerr << "scavenger-campaign: not one simulation has a result; the page has the end of "
                 "each one's output\n";
  return code_of(finish.status, run.campaign());
}

// ---- Planning. ----

campaign::PlanQuestion question_of(const Arguments& arguments,
                                   const campaign::CampaignConfig& config) {
  if (!arguments.like.empty()) return campaign::question_like(config, arguments.like);
  if (arguments.plan_seconds > 0.0)
    return campaign::question_of_seconds(config, arguments.plan_seconds);
  throw InputError({.what = "it is not known how long a simulation takes",
                    .where = "--plan",
                    .remedy = "simulate a few points with --max-simulations, and add --like RUN; "
                              "or add --seconds-per-simulation"});
}

int print_plan(const Arguments& arguments, const campaign::CampaignConfig& config) {
  const campaign::PlanQuestion question = question_of(arguments, config);
  const campaign::CampaignPlan plan{config, campaign::catalogue_of(config, elastic::usable_cores()),
                                    campaign::wall_seconds_of(config)};
  std::cout << campaign::plan_text(plan, question.world, question.mean_seconds, question.source);
  return 0;
}

int begin_new(const Arguments& arguments) {
  const campaign::CampaignConfig config = load(arguments);
  campaign::check_segments(config);
  if (arguments.plan) return print_plan(arguments, config);
  campaign::check_machines(config, elastic::usable_cores());
  if (arguments.print_config) {
    std::cout << json_text(campaign::to_json(config), {.indent = 2}) << "\n";
    return 0;
  }
  campaign::check_programs(config, program_folder());
  const campaign::CampaignFolder folder = campaign::make_campaign_folder(config, arguments.run);
  if (!arguments.quiet) std::cout << "run folder: " << folder.path.string() << std::endl;
  return work(folder, arguments);
}

int run(const Arguments& arguments) {
  if (!arguments.replay.empty()) {
    const auto log = campaign::replay(campaign::open_campaign_folder(arguments.replay));
    std::cout << log.steps << " steps lead to the same decisions again\n";
    return 0;
  }
  if (!arguments.resume.empty())
    return work(campaign::open_campaign_folder(arguments.resume), arguments);
  if (arguments.config.empty())
    throw InputError({.what = "there is nothing to simulate",
                      .where = "command line",
                      .remedy = "name a configuration, or --resume RUN; see --help"});
  return begin_new(arguments);
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  using namespace scavenger;
  CLI::App app(
      "Simulates the points of a parameter space on machines that come and go, and keeps what "
      "they compute.",
      "scavenger-campaign");
  Arguments arguments;
  declare(app, arguments);
  if (const auto exit_code = parse_command_line(app, argc, argv)) return *exit_code;
  return run_user_program("scavenger-campaign", [&] { return run(arguments); });
}
