// scavenger-plan: what every (K, B) would take and cost, from what was measured of a few; and the
// store of measurements.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/signal_set.hpp>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "apps/command_line/command_line.h"
#include "apps/command_line/duration.h"
#include "apps/command_line/price_command.h"
#include "apps/command_line/user_program.h"
#include "cloud_gcp/provider/gcp_catalogue.h"
#include "elastic/model_service/model_service.h"
#include "elastic/plan/plan_output.h"
#include "elastic/plan/stored_fit.h"
#include "elastic/planning/made_plan.h"
#include "elastic/planning/number_list.h"
#include "elastic/planning/run_replay.h"
#include "elastic/planning/store_text.h"
#include "elastic/planning/vm_catalogue.h"
#include "elastic/vms/recurring_job.h"
#include "elastic/vms/spot_tables.h"
#include "elastic/vms/vm_plan.h"
#include "perfmodel/store/sqlite_store.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/version.h"

namespace scavenger {
namespace {

// ---- A plan. ----

// What is only understood once the whole command line was read.
struct PlanWords {
  std::string mode = "measured";
  std::string policy = "knee";
  std::string max_time;              // "90s", "45m", "3h"
  std::string workers, batch_sizes;  // "1-8", "64,128,256"
  std::string machines;              // "small:2:0.5:0.04,large:4"
  std::string shares = "dynamic";
};

struct PlanArguments {
  elastic::PlanSources sources;
  elastic::PlanQuestion question;
  PlanWords words;
  bool json = false;
  std::string html;
  bool simulate = false;
  elastic::SimulationOptions simulation;
};

void declare_table(CLI::App& app, elastic::PlanSources& sources, const char* columns,
                   const char* rows) {
  app.add_option("--samples", sources.samples_per_epoch, "Of an epoch")->check(kPositive);
  app.add_option("--column", sources.columns, columns);
  app.add_option("--where", sources.rows, rows);
}

void declare_question(CLI::App& app, elastic::PlanQuestion& question, PlanWords& words) {
  app.add_option("--policy", words.policy, "min-time, min-cost or knee");
  app.add_option("--max-cost", question.constraints.max_cost, "Dollars")->check(kPositive);
  app.add_option("--max-time", words.max_time, "90s, 45m, 3h");
  app.add_option("--workers", words.workers, "K to choose from: 1-8, or 1,2,4");
  app.add_option("--batch-sizes", words.batch_sizes, "B to choose from: 64,128,256");
  app.add_option("--max-local-batch", question.constraints.max_local_batch,
                 "What a worker's memory holds")
      ->check(kPositive);
  CLI::Option* const machines =
      app.add_option("--machines", words.machines,
                     "Unequal machines, in the order in which workers get them: "
                     "TYPE:COUNT[:SPEED[:PRICE]],...");
  app.add_option("--shares", words.shares, "Of the batch on unequal machines")
      ->check(CLI::IsMember({"even", "dynamic"}))
      ->needs(machines);
  app.add_option("--price", question.prices.per_worker, "Dollars per worker and hour")
      ->check(kNotNegative);
  app.add_option("--fixed-price", question.prices.fixed, "Dollars per hour for all else")
      ->check(kNotNegative);
  app.add_flag("--exact-billing", question.prices.bills_exactly,
               "Time x price, without a first minute and whole seconds");
  app.add_option("--noise-scale", question.noise_scale, "B_s, where it was measured elsewhere")
      ->check(kPositive);
  app.add_option("--machine", question.filter.machine, "Only of this machine type");
  app.add_option("--target", question.filter.target, "Only of this target");
  app.add_option("--phase", question.filter.phase, "Only of this phase of the learning rate")
      ->check(kPositive);
}

void declare_simulation(CLI::App& app, PlanArguments& arguments) {
  CLI::Option* const simulate = app.add_flag(
      "--simulate", arguments.simulate,
      "Take the table for the truth, and say what each search would find and cost; with --store, "
      "also one that knows only the other models of the store");
  for (const char* const form : {"--json", "--html", "--mode"})
    simulate->excludes(app.get_option(form));
  app.add_option("--seeds", arguments.simulation.seeds, "Of the simulation")
      ->check(CLI::Range(1, 100000))
      ->needs(simulate);
  app.add_option("--resize-seconds", arguments.simulation.resize_seconds, "Of the simulation")
      ->check(kNotNegative)
      ->needs(simulate);
  app.add_option("--cold-start", arguments.simulation.cold_start_iterations,
                 "Of the simulation: iterations before anything is measured")
      ->needs(simulate);
}

void declare_plan(CLI::App& app, PlanArguments& arguments) {
  app.add_option("SOURCES", arguments.sources.paths,
                 "Run folders of one job, a table of observations (CSV, JSON), or an export");
  CLI::Option* const store = app.add_option("--store", arguments.sources.store.name,
                                            "A store of measurements (docs/store.md)");
  app.add_option("--token-file", arguments.sources.store.token_file, "Of a store that is a service")
      ->needs(store);
  app.add_option("--model", arguments.sources.model,
                 "Which model of the store: its id, or how it begins")
      ->needs(store);
  app.add_option("--mode", arguments.words.mode,
                 "measured; none: the store's most similar model; universal: the mean of all")
      ->check(CLI::IsMember({"measured", "none", "universal"}));
  declare_question(app, arguments.question, arguments.words);
  declare_table(app, arguments.sources, "A table's word for a column: epochs=my_epochs",
                "Only a table's rows with this: model=ResNet18");
  app.add_flag("--json", arguments.json, "One JSON document");
  app.add_option("--html", arguments.html, "Write a page with the curves to this file")
      ->check(kNamed);
  declare_simulation(app, arguments);
}

elastic::PlanQuestion question_of(const PlanArguments& arguments) {
  elastic::PlanQuestion question = arguments.question;
  const PlanWords& words = arguments.words;
  question.policy = perfmodel::parse_policy(words.policy);
  if (!words.max_time.empty())
    question.constraints.max_seconds = parse_duration(words.max_time, "--max-time");
  if (!words.workers.empty()) question.workers = elastic::parse_numbers(words.workers, "--workers");
  if (!words.batch_sizes.empty())
    question.batch_sizes = elastic::parse_numbers(words.batch_sizes, "--batch-sizes");
  if (!words.machines.empty()) question.machines = elastic::parse_machines(words.machines);
  if (words.shares == "even") question.sharing = perfmodel::Sharing::kEven;
  if (arguments.sources.samples_per_epoch > 0.0)
    question.samples_per_epoch = arguments.sources.samples_per_epoch;
  return question;
}

int plan(const PlanArguments& arguments) {
  const elastic::PlanQuestion question = question_of(arguments);
  const elastic::Knowledge knowledge = elastic::parse_knowledge(arguments.words.mode);
  if (knowledge != elastic::Knowledge::kMeasured && arguments.sources.store.name.empty())
    throw InputError({.what = "the models of a store are asked for, and no store is named",
                      .where = "--mode " + arguments.words.mode,
                      .remedy = "give --store FILE, or the URL of a service"});
  if (arguments.simulate) {
    std::cout << elastic::simulate_searches(arguments.sources, question, arguments.simulation);
    return 0;
  }
  const elastic::MadePlan made = elastic::plan_from(arguments.sources, knowledge, question);
  std::cout << (arguments.json ? elastic::plan_json(made.plan, made.source)
                               : elastic::plan_text(made.plan, made.source));
  if (!arguments.html.empty())
    write_output_file(arguments.html, elastic::plan_html(made.plan, made.source));
  return made.plan.decision.choice ? 0 : 1;
}

// ---- The store. ----

struct StoreArguments {
  elastic::StoreAddress store;
  std::string id;
  std::string listen = "127.0.0.1:7077";
};

int list_models(const StoreArguments& arguments) {
  const auto store = open_store(arguments.store, perfmodel::StoreAccess::kReadOnly);
  std::cout << elastic::models_table(store->list());
  return 0;
}

int forget_model(const StoreArguments& arguments) {
  // To look makes no store where there is none.
  const std::string id = elastic::full_id(
      *open_store(arguments.store, perfmodel::StoreAccess::kReadOnly), arguments.id);
  open_store(arguments.store, perfmodel::StoreAccess::kReadWrite)->forget(id);
  std::cout << "forgotten: " << id << "\n";
  return 0;
}

int record_sources(const StoreArguments& arguments, const elastic::PlanSources& sources) {
  const elastic::KnownModel known = elastic::gather_model(sources);
  const std::string id = known.record.signature.id();
  const auto store = open_store(arguments.store, perfmodel::StoreAccess::kReadWrite);
  store->record(known.record);
  elastic::refresh_fit(*store, id);
  std::cout << "recorded as " << id << ": " << known.record.times.size() << " configurations, "
            << known.record.noise.size() << " of noise, " << known.record.epochs.size()
            << " runs\n";
  return 0;
}

int show_model(const StoreArguments& arguments, bool as_export) {
  const auto store = open_store(arguments.store, perfmodel::StoreAccess::kReadOnly);
  const perfmodel::ModelRecord record = store->find(elastic::full_id(*store, arguments.id)).value();
  std::cout << (as_export ? perfmodel::to_json_text(record) : elastic::model_text(record));
  return 0;
}

// Until it is interrupted.
int serve(const StoreArguments& arguments) {
  const auto colon = arguments.listen.rfind(':');
  const std::string host = arguments.listen.substr(0, colon);
  std::uint16_t port = 0;
  const char* const end = arguments.listen.data() + arguments.listen.size();
  if (colon == std::string::npos ||
      std::from_chars(arguments.listen.data() + colon + 1, end, port).ptr != end)
    throw InputError({.what = "this is no address to listen at",
                      .where = "--listen",
                      .remedy = "give HOST:PORT, such as 127.0.0.1:7077"});
  perfmodel::SqliteStore store(arguments.store.name);
  asio::io_context io(1);
  const elastic::ModelService service(io, host, port,
                                      elastic::token_from(arguments.store.token_file, true), store);
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });
  std::cout << "http://" << host << ":" << service.port() << std::endl;
  for (;;) {  // whatever becomes of one client, the others are served
    try {
      io.run();
      return 0;
    } catch (const std::exception& error) {
      std::cerr << "scavenger-plan: a client was lost: " << error.what() << std::endl;
    }
  }
}

int replay(const std::string& run_folder) {
  const elastic::RunReplay replay = elastic::replay_run(run_folder);
  std::cout << replay.text;
  return replay.is_same ? 0 : 1;
}

// What was named before a command, as in scavenger-plan --store FILE list, counts where the command
// itself does not say it.
elastic::StoreAddress store_of(elastic::StoreAddress named, const elastic::StoreAddress& before) {
  if (named.name.empty()) named.name = before.name;
  if (named.token_file.empty()) named.token_file = before.token_file;
  return named;
}

class Commands final {
 public:
  explicit Commands(CLI::App& app) {
    add(app, "list", "The models of a store", false);
    add(app, "show", "What a store knows of a model", true);
    add(app, "export", "The same as JSON, for record", true);
    add(app, "forget", "Delete a model from a store", true);
    CLI::App* record = add(app, "record", "Add run folders, tables or exports to a store", false);
    record->add_option("SOURCES", sources_.paths, "As for a plan")->required();
    declare_table(*record, sources_, "As for a plan", "As for a plan");
    CLI::App* again = app.add_subcommand(
        "replay", "Decide again what a run's controller, search and adascale have decided");
    again->add_option("RUN", run_, "Its folder")->required();
    CLI::App* serve = add(app, "serve", "Let jobs on other machines use a store", false);
    serve->add_option("--listen", store_.listen, "HOST:PORT; who can reach it can try");
  }

  int run(CLI::App& app, const elastic::StoreAddress& before) {
    store_.store = store_of(store_.store, before);
    if (store_.store.name.empty() && !app.got_subcommand("replay"))
      throw InputError({.what = "no store is named",
                        .where = "--store",
                        .remedy = "give --store FILE, or the URL of a service"});
    if (store_.store.token_file.empty() && app.got_subcommand("serve"))
      throw InputError({.what = "a service needs a token",
                        .where = "--token-file",
                        .remedy = "name a file; where there is none it is made"});
    if (app.got_subcommand("list")) return list_models(store_);
    if (app.got_subcommand("serve")) return serve(store_);
    if (app.got_subcommand("replay")) return replay(run_);
    if (app.got_subcommand("forget")) return forget_model(store_);
    if (app.got_subcommand("record")) return record_sources(store_, sources_);
    return show_model(store_, app.got_subcommand("export"));
  }

 private:
  CLI::App* add(CLI::App& app, const char* name, const char* description, bool with_id) {
    CLI::App* command = app.add_subcommand(name, description);
    command->add_option("--store", store_.store.name, "A file, or a service's URL; needed");
    command->add_option("--token-file", store_.store.token_file, "Of a service; serve makes it");
    if (with_id)
      command->add_option("ID", store_.id, "Of the model, or how it begins")
          ->required()
          ->check(kNamed);
    return command;
  }

  std::string run_;
  StoreArguments store_;
  elastic::PlanSources sources_;
};

// ---- Machine types. ----

class VmsCommand final {
 public:
  explicit VmsCommand(CLI::App& app) {
    command_ = app.add_subcommand("vms", "Which machine type, how many, and which batch size");
    command_->add_option("SOURCES", sources_.paths, "As for a plan; on at least one machine type");
    command_->add_option("--store", sources_.store.name, "A store of measurements");
    command_->add_option("--token-file", sources_.store.token_file, "Of a store's service");
    command_->add_option("--model", sources_.model, "Which model of the store");
    declare_table(*command_, sources_, "As for a plan", "As for a plan");
    declare_machines();
    command_->add_option("--policy", policy_, "min-time, min-cost or knee");
    command_->add_option("--max-cost", question_.limits.max_cost, "Dollars")->check(kPositive);
    command_->add_option("--max-time", max_time_, "90s, 45m, 3h");
    command_->add_option("--confidence", question_.confidence, "With which the limits hold")
        ->check(CLI::Range(0.5, 0.99) & kPositive);
    command_
        ->add_option("--profile-budget", question_.profile_budget,
                     "Dollars that the next probe may cost (3 % of the job)")
        ->check(kPositive);
    command_->add_flag("--json", json_, "One JSON document");
    command_->add_option("--html", page_, "Write a page with cost against time to this file")
        ->check(kNamed);
  }

  bool is_called() const { return command_->parsed(); }

  int run(const elastic::StoreAddress& before) {
    sources_.store = store_of(sources_.store, before);
    question_.policy = perfmodel::parse_policy(policy_);
    if (!max_time_.empty()) question_.limits.max_seconds = parse_duration(max_time_, "--max-time");
    if (sources_.samples_per_epoch > 0.0) question_.samples_per_epoch = sources_.samples_per_epoch;
    const elastic::OfferedTypes offered = elastic::offered_types(catalogue(), narrowing_);
    question_.other_types = offered.features;
    elastic::KnownModel known = elastic::gather_model(sources_);
    if (!lifetimes_.empty()) elastic::add_spot_lives(lifetimes_, zone_, offered.types, known);
    elastic::VmPlan made = elastic::make_vm_plan(known, offered.types, question_);
    if (offered.unscored > 0)
      made.notes.push_back(fmt::format("{} types without a score in {} were left out",
                                       offered.unscored, narrowing_.scores));
    if (!page_.empty()) write_output_file(page_, elastic::vm_plan_page(made, known.title));
    std::cout << (json_ ? elastic::vm_plan_json(made, known.title)
                        : elastic::vm_plan_text(made, known.title));
    return made.choice ? 0 : 1;
  }

 private:
  void declare_machines() {
    command_->add_option("--catalog", catalog_,
                         "gcp, a CSV file, or the machines of a configuration or a run folder");
    command_->add_option("--region", region_, "Of --catalog gcp");
    command_->add_option("--coremark", narrowing_.scores, "Scores of the types of --catalog gcp")
        ->check(CLI::ExistingFile);
    command_
        ->add_option("--calibrations", narrowing_.calibrations,
                     "What types do, as scavenger-ctl calibrate has measured it")
        ->check(CLI::ExistingFile);
    command_->add_option("--types", narrowing_.patterns, "Only these: n2d-*,c3-*");
    command_->add_option("--max-vms", question_.most_vms, "In all")->check(CLI::Range(1.0, 1000.0));
    command_->add_option("--max-vcpus", question_.most_vcpus, "Of all VMs together: a quota")
        ->check(kPositive);
    command_->add_option("--batch-size", question_.batch, "B; else the best that was measured")
        ->check(CLI::Range(1.0, 1e12));
    command_->add_option("--mix", question_.most_types, "Types in one plan at most: 1 or 2")
        ->check(CLI::Range(1, 2));
    CLI::Option* const spot = command_->add_flag("--spot", question_.spot, "Spot machines, too");
    command_
        ->add_option("--spot-losses", question_.spot_losses_per_hour,
                     "Per VM and hour, if neither its type nor a run says more")
        ->check(kNotNegative);
    CLI::Option* const lives =
        command_
            ->add_option("--lifetimes", lifetimes_,
                         "A table of spot machines' lives: machine_type,lifetime_seconds,ended_by")
            ->check(CLI::ExistingFile)
            ->needs(spot);
    command_->add_option("--zone", zone_, "Only its rows of this zone count")->needs(lives);
    command_
        ->add_option("--spot-prices", narrowing_.spot_prices,
                     "A table of prices over time: machine_type,first_seen_date,usd_hour_spot")
        ->check(CLI::ExistingFile)
        ->needs(spot);
    command_->add_option("--start-seconds", question_.start_seconds, "Until a new VM computes (90)")
        ->check(kNotNegative);
    command_
        ->add_option("--fixed-price", question_.fixed_price_per_hour,
                     "Dollars per hour of the machine of the controller and its shards")
        ->check(kNotNegative);
  }

  std::vector<elastic::VmType> catalogue() const {
    if (catalog_ != "gcp" && command_->count("--region") > 0)
      throw InputError({.what = "only --catalog gcp has regions",
                        .where = "--region",
                        .remedy = "leave it out"});
    if (catalog_ != "gcp") return elastic::vm_types_at(catalog_);
    return elastic::vm_types_of(gcp::region_catalogue(region_, gcp::PriceCatalog::built_in()));
  }

  CLI::App* command_ = nullptr;
  elastic::PlanSources sources_;
  elastic::VmQuestion question_;
  elastic::VmNarrowing narrowing_;
  std::string catalog_ = "gcp", region_ = "us-central1", policy_ = "min-cost", max_time_;
  std::string page_, lifetimes_, zone_;
  bool json_ = false;
};

class AgainCommand final {
 public:
  explicit AgainCommand(CLI::App& app) {
    command_ = app.add_subcommand("again", "On which cluster a job that comes again runs next");
    command_->add_option("RUNS", runs_, "A table of whole runs: job,type,vms,dollars")
        ->required()
        ->check(CLI::ExistingFile);
    command_->add_option("--job", job_, "Which of its jobs, or a new one")->required();
    command_->add_option("--catalog", catalog_, "A CSV file (docs/machines.md)")
        ->required()
        ->check(CLI::ExistingFile);
  }

  bool is_called() const { return command_->parsed(); }

  int run() const {
    std::cout << elastic::next_run_text(
        elastic::next_run(elastic::read_whole_runs(runs_), job_, elastic::read_vm_types(catalog_)));
    return 0;
  }

 private:
  CLI::App* command_ = nullptr;
  std::filesystem::path runs_, catalog_;
  std::string job_;
};

// An option before a command is the plan's, which the command does not make.
void require_no_options_before_command(const CLI::App& app) {
  if (app.get_subcommands().empty()) return;
  const std::string command = app.get_subcommands().front()->get_name();
  for (const CLI::Option* const option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == "--store" || name == "--token-file") continue;
    throw InputError({.what = fmt::format("it stands before the command {}", command),
                      .where = name,
                      .remedy = "write what belongs to the command behind it"});
  }
}

}  // namespace
}  // namespace scavenger

int main(int argc, char** argv) {
  using namespace scavenger;
  CLI::App app("Says what each number of workers and batch size would take and cost.",
               "scavenger-plan");
  app.set_version_flag("--version", version_line("scavenger-plan"));
  app.require_subcommand(0, 1);
  PlanArguments arguments;
  declare_plan(app, arguments);
  Commands commands(app);
  const PriceCommand prices(app);
  VmsCommand vms(app);
  const AgainCommand again(app);
  if (const auto exit_code = parse_command_line(app, argc, argv)) return *exit_code;
  return run_user_program("scavenger-plan", [&] {
    require_no_options_before_command(app);
    if (prices.is_called()) return prices.run();
    if (again.is_called()) return again.run();
    if (vms.is_called()) return vms.run(arguments.sources.store);
    return app.get_subcommands().empty() ? plan(arguments)
                                         : commands.run(app, arguments.sources.store);
  });
}
