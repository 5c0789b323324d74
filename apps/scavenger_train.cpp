// scavenger-train: trains a model as a configuration says, or goes on with a job of before.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/command_line/command_line.h"
#include "apps/command_line/duration.h"
#include "apps/command_line/python_inspection.h"
#include "apps/command_line/resumed_folder.h"
#include "apps/command_line/user_program.h"
#include "elastic/coordinator/commands/control_socket.h"
#include "elastic/coordinator/job/host.h"
#include "elastic/coordinator/job/job_registry.h"
#include "elastic/coordinator/job/job_start.h"
#include "elastic/coordinator/job/run_folder.h"
#include "elastic/coordinator/job_run.h"
#include "elastic/coordinator/staffing/endpoint_check.h"
#include "elastic/model_service/model_service.h"
#include "elastic/page/live_page.h"
#include "elastic/page/tensorboard_mirror.h"
#include "elastic/providers/job_provider.h"
#include "elastic/report/json_report.h"
#include "elastic/report/progress_text.h"
#include "elastic/search/machine_pool.h"
#include "elastic/search/search_grid.h"
#include "elastic/vms/race/vm_race_setting.h"
#include "perfmodel/store/sqlite_store.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"
#include "runtime/base/log.h"
#include "runtime/base/random.h"
#include "runtime/base/text.h"
#include "runtime/base/version.h"
#include "runtime/config/build_features.h"
#include "runtime/config/config_file.h"
#include "runtime/config/placement.h"
#include "runtime/data/data_set.h"
#include "runtime/process/gpus.h"

namespace scavenger {
namespace {

// What looks on while the job trains, if the user asks for it: docs/page.md.
struct ViewOptions {
  std::optional<std::uint16_t> serve;  // port; 0: any
  std::string address = "127.0.0.1";
  std::string token_file;
  bool tensorboard = false;
};

struct Arguments {
  std::string config;
  std::vector<std::string> script_words;
  std::string resume;
  std::string evaluate;
  std::string split = "test";
  std::string checkpoint = "best";
  bool json = false;
  std::string run;
  std::vector<std::string> overrides;
  std::uint32_t workers = 0;
  std::uint32_t batch_size = 0;
  std::string search;
  std::string policy;
  std::string vms;
  double max_cost = 0.0;
  std::string max_time;
  bool print_config = false;
  bool quiet = false;
  ViewOptions views;
};

void declare_views(CLI::App& app, ViewOptions& options) {
  auto* const serve = app.add_option("--serve", options.serve,
                                     "Show the job on a page while it runs: --serve, or "
                                     "--serve PORT")
                          ->type_name("[PORT]");
  app.add_option("--serve-address", options.address,
                 "Where the page listens; others than loopback are not encrypted")
      ->capture_default_str()
      ->needs(serve);
  app.add_option("--serve-token", options.token_file,
                 "A file with the page's token, made where it is missing (a fresh one each time)")
      ->needs(serve);
  app.add_flag("--tensorboard", options.tensorboard,
               "Write RUN/tensorboard/, the job's scalars for TensorBoard");
}

void declare(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", version_line("scavenger-train"));
  auto* const config =
      app.add_option("CONFIG", arguments.config,
                     "What to train: a JSON file, see configs/ and docs/config.md, or "
                     "a Python script with a loop of its own (docs/python_loop.md)");
  app.add_option("WORDS", arguments.script_words, "After --: the command line of that script");
  auto* resume = app.add_option("--resume", arguments.resume,
                                "Go on with the job in this run folder, from its last checkpoint")
                     ->check(kNamed);
  config->excludes(resume);
  auto* evaluate = app.add_option("--evaluate", arguments.evaluate,
                                  "Train nothing: print the metrics of the job in this run folder")
                       ->check(kNamed);
  evaluate->excludes(config)->excludes(resume);
  app.add_option("--split", arguments.split, "With --evaluate: on which data, test or train")
      ->capture_default_str()
      ->check(CLI::IsMember({"test", "train"}))
      ->needs(evaluate);
  app.add_option("--checkpoint", arguments.checkpoint,
                 "With --evaluate: of which model: best, last, or its iteration")
      ->capture_default_str()
      ->needs(evaluate);
  app.add_flag("--json", arguments.json, "With --evaluate: print them as JSON")->needs(evaluate);
  app.add_option("--workers", arguments.workers, "K, the number of workers (cluster.workers)")
      ->check(kPositive);
  app.add_option("--batch-size", arguments.batch_size, "B, the global batch (batch_size)")
      ->check(kPositive);
  app.add_option("--search", arguments.search,
                 "How to find K and B while training: off, auto, partial, adaptive, full, none or "
                 "universal (search.mode; docs/search.md)");
  app.add_option("--policy", arguments.policy,
                 "What is best: min-time, min-cost or knee (search.policy)");
  app.add_option("--vms", arguments.vms,
                 "auto: find the machine type while training (provider.vms.mode; docs/machines.md)")
      ->check(CLI::IsMember({"off", "auto"}));
  app.add_option("--max-cost", arguments.max_cost,
                 "Dollars that the job may cost, over all resumes (stop.max_cost)")
      ->check(kPositive);
  app.add_option("--max-time", arguments.max_time,
                 "90s, 45m, 3h: what the job may take, over all resumes (stop.max_seconds)");
  app.add_option("--set", arguments.overrides,
                 "Replace a value of the configuration: --set optimizer.learning_rate=0.05")
      ->allow_extra_args(false);  // else it takes CONFIG, or the -- before a script's words
  app.add_option("--run", arguments.run, "The run folder of a new job (runs/NAME where free)")
      ->check(kNamed)
      ->excludes(resume);
  app.add_flag("--print-config", arguments.print_config,
               "Print the complete configuration and end");
  app.add_flag("--quiet", arguments.quiet, "Print nothing but errors and the end");
  declare_views(app, arguments.views);
  for (const char* const training :
       {"--workers", "--batch-size", "--search", "--policy", "--vms", "--max-cost", "--max-time",
        "--set", "--run", "--print-config", "--serve", "--serve-address", "--serve-token",
        "--tensorboard"})
    evaluate->excludes(app.get_option(training));
}

// What the command line says of the configuration, and how each was given: "--workers 4".
struct Overrides {
  std::vector<std::string> texts;
  std::map<std::string, std::string> given;  // by text

  void add(const std::string& text, const std::string& how) {
    texts.push_back(text);
    given.emplace(text, how);
  }
};

Overrides all_overrides(const Arguments& arguments) {
  Overrides all{arguments.overrides, {}};
  const auto number = [](const auto& value) { return fmt::format("{}", value); };
  if (arguments.workers > 0)
    all.add("cluster.workers=" + number(arguments.workers),
            "--workers " + number(arguments.workers));
  if (arguments.batch_size > 0)
    all.add("batch_size=" + number(arguments.batch_size),
            "--batch-size " + number(arguments.batch_size));
  if (!arguments.search.empty())
    all.add("search.mode=" + arguments.search, "--search " + arguments.search);
  if (!arguments.policy.empty())
    all.add("search.policy=" + arguments.policy, "--policy " + arguments.policy);
  if (!arguments.vms.empty())
    all.add("provider.vms.mode=" + arguments.vms, "--vms " + arguments.vms);
  if (arguments.max_cost > 0.0)
    all.add("stop.max_cost=" + number(arguments.max_cost),
            "--max-cost " + number(arguments.max_cost));
  if (!arguments.max_time.empty())
    all.add("stop.max_seconds=" + number(parse_duration(arguments.max_time, "--max-time")),
            "--max-time " + arguments.max_time);
  return all;
}

std::filesystem::path program_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

elastic::JobStart load_start(const Arguments& arguments) {
  const Overrides overrides = all_overrides(arguments);
  const DataFiles files = arguments.print_config ? DataFiles::kNotChecked : DataFiles::kMustExist;
  try {
    if (!arguments.resume.empty()) return elastic::resume_job(arguments.resume, overrides.texts);
    elastic::JobStart start;
    if (is_script(arguments.config))
      start.config = config_of_script(program_folder(), arguments.config, arguments.script_words,
                                      overrides.texts);
    else
      start.config = load_job_config(arguments.config, overrides.texts, files);
    return start;
  } catch (const ConfigError& error) {
    Problem problem = error.problem();
    for (const auto& [text, how] : overrides.given)
      if (problem.where == "--set " + text)
        problem.where = fmt::format("{} ({})", how, text.substr(0, text.find('=')));
    const auto says = [text = problem.where + problem.what](const char* words) {
      return text.find(words) != std::string::npos;
    };
    if (!arguments.vms.empty() &&
        (says("provider.vms") || (says("provider") && !says("provider."))))
      problem.remedy += "; --vms needs a provider of type emulated, gcp, kubernetes or slurm";
    throw ConfigError(std::move(problem));
  }
}

// A job killed between the end in its log and its report leaves one that says "running", or none.
void complete_report(const elastic::JobStart& start) {
  const std::filesystem::path path = start.folder.report();
  try {
    std::error_code error;
    const bool is_there = std::filesystem::exists(path, error);
    if (is_there && read_file(path) == to_json_report(*start.finished)) return;
    write_json_report(path, *start.finished);
  } catch (const SystemError& error) {  // the log has it all
    log_warning("{}", error.what());
  }
}

// Nothing was left to do but the report.
int tell_finished(const elastic::JobStart& start, bool quiet) {
  complete_report(start);
  const std::vector<std::string> lines =
      elastic::closing_text(*start.finished, {start.folder.path.string()});
  std::cout << "this job is finished: " << lines.front() << "\n";
  for (std::size_t i = 1; i < lines.size() && !quiet; ++i) std::cout << lines[i] << "\n";
  return 0;
}

// Reads and checks all data before anything is started.
elastic::DataSize check_data(const JobConfig& config) {
  const std::filesystem::path cache = default_cache_folder();
  const DataSet train = DataSet::open(config.data, Split::kTrain, cache);
  const DataSet test = DataSet::open(config.data, Split::kTest, cache);
  check_splits_fit(train, test);
  if (config.batch_size > train.size())
    throw ConfigError({.what = fmt::format("a batch of {} is more than the {} training samples",
                                           config.batch_size, train.size()),
                       .where = "batch_size",
                       .remedy = fmt::format("use at most {}", train.size())});
  return {train.size(), test.size(), std::string(train.vocabulary()),
          std::string(train.target_vocabulary()), train.shape()};
}

// They would wait for each other.
void warn_of_crowd(const JobConfig& config, std::uint32_t cores) {
  if (!runs_here(config) || needs_gpus(config) || config.cluster.workers <= cores) return;
  log_warning("{} workers on {} {}: they take turns, so more than --workers {} are no faster here",
              config.cluster.workers, cores, cores == 1 ? "core" : "cores", cores);
}

void warn_of_free_machines(const JobConfig& config) {
  if (config.stop.max_cost == 0.0 || !runs_here(config) ||
      config.cluster.price_per_worker_hour > 0.0)
    return;
  log_warning(
      "this machine has no price, so max_cost will not end the job; set "
      "cluster.price_per_worker_hour");
}

// By scavenger-predict, which has LibTorch and is beside us.
[[noreturn]] void evaluate(const Arguments& arguments) {
  const std::string program = program_folder() / "scavenger-predict";
  std::vector<std::string> words = {
      program,         arguments.evaluate, "--evaluate",        "--split",
      arguments.split, "--checkpoint",     arguments.checkpoint};
  if (arguments.json) words.emplace_back("--json");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  throw SystemError(errno, {.what = "cannot be started, and evaluates",
                            .where = program,
                            .remedy = "build or install all programs of Scavenger"});
}

// ---- The page and TensorBoard. ----

constexpr std::size_t kTokenBytes = 24;

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string fresh_token() {
  std::vector<std::byte> bytes(kTokenBytes);
  fill_with_secret_bytes(bytes);
  return to_hex(bytes);
}

// The port after --serve may be left out, which a command line with other words after it does not
// say by itself: "--serve 8080" becomes "--serve=8080", "--serve" "--serve=0". In the order that
// CLI::App::parse() wants.
std::vector<std::string> arguments_with_serve(int argc, char** argv) {
  std::vector<std::string> arguments;
  bool is_of_script = false;
  for (int i = 1; i < argc; ++i) {
    arguments.emplace_back(argv[i]);
    is_of_script |= arguments.back() == "--";
    if (is_of_script || arguments.back() != "--serve") continue;
    const bool has_port = i + 1 < argc && is_number(argv[i + 1]);
    arguments.back() += std::string("=") + (has_port ? argv[++i] : "0");
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

// They are made before the job runs, and live until it has ended.
struct Views {
  std::unique_ptr<elastic::LivePage> page;
  std::unique_ptr<elastic::TensorboardMirror> tensorboard;
};

// Prints the page's address, which holds its token.
Views start_views(const ViewOptions& options, const std::filesystem::path& run_folder) {
  Views views;
  if (options.serve) {
    elastic::LivePageOptions page;
    page.run_folder = run_folder;
    page.address = options.address;
    page.port = *options.serve;
    page.token =
        options.token_file.empty() ? fresh_token() : elastic::token_from(options.token_file, true);
    page.tell = [run_folder](const nlohmann::json& command) {
      return elastic::ask_job(run_folder, command);
    };
    views.page = std::make_unique<elastic::LivePage>(std::move(page));
    std::cout << "live page: " << views.page->url() << std::endl;
  }
  if (options.tensorboard)
    views.tensorboard =
        std::make_unique<elastic::TensorboardMirror>(run_folder, run_folder / "tensorboard");
  return views;
}

// ---- The job. ----

int train(const Arguments& arguments) {
  if (!arguments.evaluate.empty()) evaluate(arguments);
  if (arguments.config.empty() == arguments.resume.empty())
    throw InputError({.what = "there is nothing to train",
                      .where = "command line",
                      .remedy = "name a configuration (scavenger-train configs/fashion_mlp.json) "
                                "or a run folder (--resume runs/fashion_mlp)"});
  if (!arguments.script_words.empty() && !is_script(arguments.config))
    throw InputError({.what = "\"" + arguments.script_words.front() + "\" is one word too many",
                      .where = "command line",
                      .remedy = "only a Python script takes words, after --"});
  const ResumedFolder resumed(arguments.resume);  // before it is read
  elastic::JobStart start = load_start(arguments);
  if (arguments.print_config) {
    std::cout << json_text(to_json(start.config), {.indent = 2}) << "\n";
    return 0;
  }
  if (start.finished) return tell_finished(start, arguments.quiet);
  // Runs that differ in B alone stay comparable where B does not change the learning rate.
  if (start.config.optimizer.batch_size_rule != BatchSizeRule::kNone &&
      start.config.optimizer.reference_batch_size == 0 && !start.is_resume)
    start.config.optimizer.reference_batch_size = start.config.batch_size;
  require_features(start.config, build_features());
  if (needs_gpus(start.config) && runs_here(start.config)) require_gpus(start.config, count_gpus());
  // A new script has just said what it is.
  if (start.is_resume || !start.config.model.has_own_loop)
    inspect_python_model(program_folder(), start.config);
  elastic::DataSize data = check_data(start.config);
  if (start.checkpoint)
    elastic::check_vocabulary(start.checkpoint->content, data, start.checkpoint->folder.string());
  const ProviderFactory& machines = elastic::provider_factory(start.config.provider.type);
  const std::uint32_t cores = elastic::usable_cores();
  if (start.config.search.mode != SearchMode::kOff) {
    const MachineCatalogue catalogue = machines.catalogue(start.config, cores);
    elastic::resolve_search(elastic::room_for_workers(start.config, catalogue), data.train_samples,
                            start.config);
    elastic::search_grid(start.config.search);
  }
  if (seeks_machine_type(start.config.provider))
    elastic::vm_race_setting(start.config, machines.catalogue(start.config, cores));
  if (!start.config.model_store.path.empty())
    perfmodel::require_store_place(start.config.model_store.path);
  elastic::check_endpoints_are_free(start.config);
  machines.check(start.config);
  std::optional<elastic::NewRunFolder> made;  // outlives all that writes to it
  if (!start.is_resume) start.folder = made.emplace(start.config, arguments.run).folder();

  const elastic::JobRegistration registration(start.folder.path);
  const Views views = start_views(arguments.views, start.folder.path);
  warn_of_crowd(start.config, cores);
  warn_of_free_machines(start.config);
  const ProviderHost host{cores, program_folder(), start.folder.path};
  const elastic::JobOptions options{
      .program_folder = program_folder(),
      .display = {std::cout, STDOUT_FILENO,
                  elastic::choose_progress_style(arguments.quiet, STDOUT_FILENO)},
      .host_cores = cores,
      .make_provider =
          [&](asio::io_context& io, const elastic::JobStart& job) {
            return machines.make(io, job.config, host);
          },
      .prepare = [&resumed, &host, config = start.config] { resumed.prepare(config, host); }};
  try {
    const int exit_code = elastic::run_job(std::move(start), std::move(data), options);
    if (made) made->keep();
    return exit_code;
  } catch (const InputError&) {  // nothing was trained
    throw;
  } catch (...) {
    if (made) made->keep();
    throw;
  }
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  using namespace scavenger;
  CLI::App app("Trains a neural network with synchronous data parallelism.", "scavenger-train");
  Arguments arguments;
  declare(app, arguments);
  if (const auto exit_code = parse_command_line(app, arguments_with_serve(argc, argv)))
    return *exit_code;
  // A file that may not grow, or a reader that is gone, is an error of that write, and no end.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  start_log("controller", LogLevel::kWarning);
  return run_user_program("scavenger-train", [&] { return train(arguments); });
}
