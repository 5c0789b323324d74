// scavenger-plan: what every (K, B) would take and cost, from what was measured of a few; and the
// store of measurements.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/signal_set.hpp>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "apps/command_line/command_line.h"
#include "elastic/planning/plan_simulation.h"
#include "elastic/planning/plan_sources.h"
#include "apps/price_command.h"
#include "apps/command_line/user_program.h"
#include "elastic/decisions/decision_log.h"
#include "elastic/decisions/decision_replay.h"
#include "elastic/model_service/model_service.h"
#include "elastic/plan/plan_output.h"
#include "elastic/plan/stored_fit.h"
#include "elastic/providers/job_provider.h"
#include "elastic/rate/rate_replay.h"
#include "elastic/search/search_replay.h"
#include "perfmodel/store/sqlite_store.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/version.h"

namespace scavenger {
namespace {

void declare_plan(CLI::App& app, PlanArguments& arguments) {
  app.add_option("SOURCES", arguments.sources,
                 "Run folders of one job, a table of observations (CSV, JSON), or an export");
  app.add_option("--store", arguments.store, "A store of measurements (docs/store.md)");
  app.add_option("--token-file", arguments.token_file, "Of a store that is a service");
  app.add_option("--model", arguments.model, "Which model of the store: its id, or how it begins");
  app.add_option("--mode", arguments.mode,
                 "measured; none: the store's most similar model; universal: the mean of all")
      ->check(CLI::IsMember({"measured", "none", "universal"}));
  app.add_option("--policy", arguments.policy, "min-time, min-cost or knee");
  app.add_option("--max-cost", arguments.max_cost, "Dollars")->check(kPositive);
  app.add_option("--max-time", arguments.max_time, "90s, 45m, 3h");
  app.add_option("--workers", arguments.workers, "K to choose from: 1-8, or 1,2,4");
  app.add_option("--batch-sizes", arguments.batch_sizes, "B to choose from: 64,128,256");
  app.add_option("--max-local-batch", arguments.max_local_batch, "What a worker's memory holds")
      ->check(kPositive);
  app.add_option("--machines", arguments.machines,
                 "Unequal machines, in the order in which workers get them: "
                 "TYPE:COUNT[:SPEED[:PRICE]],...");
  app.add_option("--shares", arguments.shares, "Of the batch on unequal machines")
      ->check(CLI::IsMember({"even", "dynamic"}));
  app.add_option("--price", arguments.price, "Dollars per worker and hour")->check(kNotNegative);
  app.add_option("--fixed-price", arguments.fixed_price, "Dollars per hour for all else")
      ->check(kNotNegative);
  app.add_flag("--exact-billing", arguments.exact_billing,
               "Time x price, without a first minute and whole seconds");
  app.add_option("--samples", arguments.samples, "Of an epoch")->check(kPositive);
  app.add_option("--noise-scale", arguments.noise_scale, "B_s, where it was measured elsewhere")
      ->check(kPositive);
  app.add_option("--column", arguments.columns, "A table's word for a column: epochs=my_epochs");
  app.add_option("--where", arguments.rows, "Only a table's rows with this: model=ResNet18");
  app.add_option("--machine", arguments.filter.machine, "Only of this machine type");
  app.add_option("--target", arguments.filter.target, "Only of this target");
  app.add_option("--phase", arguments.phase, "Only of this phase of the learning rate");
  app.add_flag("--json", arguments.json, "One JSON document");
  app.add_option("--html", arguments.html, "Write a page with the curves to this file");
  app.add_flag("--simulate", arguments.simulate,
               "Take the table for the truth, and say what each search would find and cost; with "
               "--store, also one that knows only the other models of the store");
  app.add_option("--seeds", arguments.simulation.seeds, "Of the simulation")
      ->check(CLI::Range(1, 100000));
  app.add_option("--resize-seconds", arguments.simulation.resize_seconds, "Of the simulation")
      ->check(kNotNegative);
  app.add_option("--cold-start", arguments.simulation.cold_start_iterations,
                 "Of the simulation: iterations before anything is measured");
}

int simulate(const PlanArguments& arguments) {
  PlanArguments own = arguments;
  own.store.clear();
  const KnownModel model = gather_model(own);
  std::string ignored;
  std::vector<perfmodel::PlanRequest> others;
  if (!arguments.store.empty())
    for (const KnownModel& other : gather_all(arguments))
      if (other.record.signature != model.record.signature)
        others.push_back(make_request(arguments, other, ignored));
  std::cout << simulation_text(make_request(arguments, model, ignored), others,
                               arguments.simulation);
  return 0;
}

int plan(const PlanArguments& arguments) {
  if (!arguments.machines.empty() && (arguments.simulate || arguments.mode == "universal"))
    throw InputError({.what = "this is not known of unequal machines",
                      .where = "--machines",
                      .remedy = "leave out --simulate, or --mode universal"});
  if (arguments.simulate) return simulate(arguments);
  elastic::PlanSource source;
  perfmodel::Plan made;
  if (arguments.mode == "universal") {
    std::vector<perfmodel::PlanRequest> requests;
    for (const KnownModel& model : gather_all(arguments)) {
      std::string ignored;
      requests.push_back(make_request(arguments, model, ignored));
      source.notes.push_back(fmt::format("counts: {}", model.title));
    }
    source.title = fmt::format("universal model of {}", arguments.store);
    made = perfmodel::make_universal_plan(requests);
  } else {
    const KnownModel model = gather_model(arguments);
    source.title = model.title;
    source.notes = model.notes;
    const perfmodel::PlanRequest request = make_request(arguments, model, source.details);
    made = perfmodel::make_plan(request);
  }
  std::cout << (arguments.json ? elastic::plan_json(made, source)
                               : elastic::plan_text(made, source));
  if (!arguments.html.empty())
    write_file_atomically(arguments.html, elastic::plan_html(made, source));
  return made.decision.choice ? 0 : 1;
}

// ---- The store. ----

struct StoreArguments {
  std::string store;  // a file, or the URL of a service
  std::string token_file;
  std::string id;
  std::string listen = "127.0.0.1:7077";
};

std::unique_ptr<perfmodel::ModelStore> open(const StoreArguments& arguments,
                                            perfmodel::StoreAccess access) {
  return open_named_store(arguments.store, arguments.token_file, access);
}

int list_models(const StoreArguments& arguments) {
  const auto store = open(arguments, perfmodel::StoreAccess::kReadOnly);
  fmt::print("{:<16}  {:<20} {:>11}  {:<40} {:>4} {:>7} {:>4}  {}\n", "id", "name", "parameters",
             "data", "jobs", "(K, B)", "runs", "updated");
  for (const perfmodel::ModelSummary& model : store->list())
    fmt::print("{:<16}  {:<20} {:>11}  {:<40} {:>4} {:>7} {:>4}  {}\n", model.id, model.name,
               model.parameters, model.data_set, model.jobs, model.configurations, model.runs,
               model.updated_utc);
  return 0;
}

void show(const perfmodel::ModelRecord& record) {
  const perfmodel::ModelSignature& signature = record.signature;
  fmt::print("{} ({})\n{} parameters, architecture {}\ndata {}, {} samples\noptimizer {}\n",
             record.name, signature.id(), signature.parameters, signature.architecture,
             signature.data_set, signature.samples_per_epoch, signature.optimizer);
  fmt::print("\n{:>4} {:>6} {:>12} {:>12} {:>10}  {}\n", "K", "B", "s/iteration", "+-",
             "iterations", "machine");
  for (const perfmodel::TimeRow& row : record.times)
    fmt::print("{:>4} {:>6} {:>12.5g} {:>12.3g} {:>10}  {}\n", row.workers, row.batch_size,
               row.seconds, row.standard_error, row.iterations, row.machine);
  fmt::print("\n{:>4} {:>6} {:>6} {:>12} {:>24} {:>10}\n", "K", "B", "phase", "noise scale",
             "interval", "iterations");
  for (const perfmodel::NoiseRow& row : record.noise)
    fmt::print("{:>4} {:>6} {:>6} {:>12.4g} {:>24} {:>10}\n", row.workers, row.batch_size,
               row.phase, row.noise_scale,
               fmt::format("{:.4g} to {}", row.noise_scale_low,
                           row.noise_scale_high > 0.0 ? fmt::format("{:.4g}", row.noise_scale_high)
                                                      : "infinity"),
               row.iterations);
  fmt::print("\n{:>4} {:>6} {:>10} {:>12}  {}\n", "K", "B", "epochs", "seconds", "target");
  for (const perfmodel::EpochRow& row : record.epochs)
    fmt::print("{:>4} {:>6} {:>10.4g} {:>12.5g}  {}\n", row.workers, row.batch_size, row.epochs,
               row.seconds, row.target);
}

int forget_model(const StoreArguments& arguments) {
  // To look makes no store where there is none.
  const std::string id = full_id(*open(arguments, perfmodel::StoreAccess::kReadOnly), arguments.id);
  open(arguments, perfmodel::StoreAccess::kReadWrite)->forget(id);
  fmt::print("forgotten: {}\n", id);
  return 0;
}

int record_sources(const StoreArguments& arguments, const PlanArguments& plan_arguments) {
  PlanArguments sources = plan_arguments;
  sources.store.clear();
  const KnownModel known = gather_model(sources);
  const auto store = open(arguments, perfmodel::StoreAccess::kReadWrite);
  store->record(known.record);
  elastic::refresh_fit(*store, known.record.signature.id());
  fmt::print("recorded as {}: {} configurations, {} of noise, {} runs\n",
             known.record.signature.id(), known.record.times.size(), known.record.noise.size(),
             known.record.epochs.size());
  return 0;
}

perfmodel::ModelRecord stored_record(const StoreArguments& arguments) {
  const auto store = open(arguments, perfmodel::StoreAccess::kReadOnly);
  return store->find(full_id(*store, arguments.id)).value();
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
  perfmodel::SqliteStore store(arguments.store);
  asio::io_context io(1);
  const elastic::ModelService service(io, host, port,
                                      elastic::token_from(arguments.token_file, true), store);
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });
  std::cout << fmt::format("http://{}:{}", host, service.port()) << std::endl;
  for (;;) {  // whatever becomes of one client, the others are served
    try {
      io.run();
      return 0;
    } catch (const std::exception& error) {
      std::cerr << "scavenger-plan: a client was lost: " << error.what() << std::endl;
    }
  }
}

// A price list may be gone since the job ended. Only prices and shapes stand there, and a search
// counts on those of machines that the configuration itself counts.
MachineCatalogue catalogue_of(const JobConfig& config) {
  try {
    return elastic::provider_factory(config.provider.type).catalogue(config, 0);
  } catch (const Error&) {
    return {};
  }
}

// What the controller has decided, and where they did, the search and the noise.
int replay(const std::string& run_folder) {
  std::optional<elastic::ReplayedLog> search;
  if (elastic::searches(run_folder)) search = elastic::replay_search(run_folder, catalogue_of);
  std::optional<elastic::ReplayedLog> rates;
  if (elastic::follows_noise(run_folder)) rates = elastic::replay_rates(run_folder);
  // Jobs of older versions have no record of the controller's.
  std::optional<elastic::ReplayedDecisions> controller;
  if ((!search && !rates) || std::filesystem::exists(elastic::decision_file(run_folder)))
    controller = elastic::replay_decisions(run_folder);
  const auto show = [](const char* who, std::uint64_t decisions,
                       const std::vector<std::string>& differences) {
    for (const std::string& difference : differences) std::cout << difference << "\n";
    fmt::print("{}: {} decisions decided again, {} otherwise than recorded\n", who, decisions,
               differences.size());
    return differences.empty();
  };
  bool same = true;
  if (controller) same &= show("controller", controller->decisions, controller->differences);
  if (search) same &= show("search", search->decisions, search->differences);
  if (rates) same &= show("learning rate", rates->decisions, rates->differences);
  return same ? 0 : 1;
}

class Commands final {
 public:
  explicit Commands(CLI::App& app) {
    add(app, "list", "The models of a store", false);
    add(app, "show", "What a store knows of a model", true);
    add(app, "export", "The same as JSON, for record", true);
    add(app, "forget", "Delete a model from a store", true);
    CLI::App* record = add(app, "record", "Add run folders, tables or exports to a store", false);
    record->add_option("SOURCES", sources_.sources, "As for a plan")->required();
    record->add_option("--samples", sources_.samples, "Of an epoch")->check(kPositive);
    record->add_option("--column", sources_.columns, "As for a plan");
    record->add_option("--where", sources_.rows, "As for a plan");
    CLI::App* again = app.add_subcommand(
        "replay", "Decide again what a run's controller, search and adascale have decided");
    again->add_option("RUN", run_, "Its folder")->required();
    CLI::App* serve = add(app, "serve", "Let jobs on other machines use a store", false);
    serve->add_option("--listen", store_.listen, "HOST:PORT; who can reach it can try");
  }

  // `before`: what was named before the command, as in scavenger-plan --store FILE list.
  int run(CLI::App& app, const PlanArguments& before) {
    if (store_.store.empty()) store_.store = before.store;
    if (store_.token_file.empty()) store_.token_file = before.token_file;
    if (store_.store.empty() && !app.got_subcommand("replay"))
      throw InputError({.what = "no store is named",
                        .where = "--store",
                        .remedy = "give --store FILE, or the URL of a service"});
    if (store_.token_file.empty() && app.got_subcommand("serve"))
      throw InputError({.what = "a service needs a token",
                        .where = "--token-file",
                        .remedy = "name a file; where there is none it is made"});
    if (app.got_subcommand("list")) return list_models(store_);
    if (app.got_subcommand("serve")) return serve(store_);
    if (app.got_subcommand("replay")) return replay(run_);
    if (app.got_subcommand("forget")) return forget_model(store_);
    if (app.got_subcommand("record")) return record_sources(store_, sources_);
    const perfmodel::ModelRecord record = stored_record(store_);
    if (app.got_subcommand("export"))
      std::cout << perfmodel::to_json_text(record);
    else
      show(record);
    return 0;
  }

 private:
  CLI::App* add(CLI::App& app, const char* name, const char* description, bool with_id) {
    CLI::App* command = app.add_subcommand(name, description);
    command->add_option("--store", store_.store, "A file, or a service's URL; needed");
    command->add_option("--token-file", store_.token_file, "Of a service; serve makes it");
    if (with_id) command->add_option("ID", store_.id, "Of the model, or how it begins")->required();
    return command;
  }

  std::string run_;
  StoreArguments store_;
  PlanArguments sources_;
};

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
  if (const auto exit_code = parse_command_line(app, argc, argv)) return *exit_code;
  return run_user_program("scavenger-plan", [&] {
    if (prices.is_called()) return prices.run();
    return app.get_subcommands().empty() ? plan(arguments) : commands.run(app, arguments);
  });
}
