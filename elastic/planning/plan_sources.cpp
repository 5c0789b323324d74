#include "elastic/planning/plan_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "elastic/planning/plan_machines.h"
#include "elastic/model_service/model_service.h"
#include "elastic/model_service/remote_store.h"
#include "elastic/plan/run_record.h"
#include "perfmodel/store/observation_table.h"
#include "runtime/base/duration.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"

namespace scavenger {
namespace {

namespace fs = std::filesystem;
using perfmodel::ModelRecord;

[[noreturn]] void refuse(std::string what, std::string where, std::string remedy) {
  throw InputError(
      {.what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

double parse_number(const std::string& text, const char* option) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0.0))
    refuse(fmt::format("\"{}\" is no positive number", text), option, "give 1-8, or 64,128,256");
  return value;
}

std::map<std::string, std::string> parse_pairs(const std::vector<std::string>& pairs,
                                               const char* option) {
  std::map<std::string, std::string> result;
  for (const std::string& pair : pairs) {
    const auto sign = pair.find('=');
    if (sign == std::string::npos || sign == 0)
      refuse(fmt::format("\"{}\" has no \"=\"", pair), option,
             "give NAME=VALUE, such as --column epochs=epochs_to_target");
    result[pair.substr(0, sign)] = pair.substr(sign + 1);
  }
  return result;
}

bool is_export(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

elastic::RecordedRun read_source(const std::string& source, const PlanArguments& arguments) {
  std::error_code ignored;
  if (fs::is_directory(source, ignored)) return elastic::read_run(source);
  if (!fs::exists(source, ignored))
    refuse("there is no such file or folder", source,
           "name a run folder, a table (CSV or JSON), or what scavenger-plan export wrote");
  const std::string text = read_file(source);
  if (is_export(text)) return {perfmodel::parse_model_record(text, source), {}};
  return {perfmodel::read_observation_table(
              source,
              {parse_pairs(arguments.columns, "--column"), parse_pairs(arguments.rows, "--where")},
              arguments.samples),
          {}};
}

// Rows of `other` that are not there yet.
template <typename Row>
void append_new(std::vector<Row>& rows, const std::vector<Row>& other) {
  for (const Row& row : other)
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
}

void append(ModelRecord& record, const ModelRecord& other) {
  append_new(record.times, other.times);
  append_new(record.noise, other.noise);
  append_new(record.epochs, other.epochs);
}

std::string difference(const perfmodel::ModelSignature& a, const perfmodel::ModelSignature& b) {
  std::vector<std::string> parts;
  if (a.architecture != b.architecture || a.parameters != b.parameters) parts.push_back("model");
  if (a.data_set != b.data_set || a.samples_per_epoch != b.samples_per_epoch)
    parts.push_back("data");
  if (a.optimizer != b.optimizer) parts.push_back("optimizer");
  return join_words(parts);
}

KnownModel gather_sources(const PlanArguments& arguments) {
  KnownModel known;
  for (const std::string& source : arguments.sources) {
    auto [record, room_samples] = read_source(source, arguments);
    if (room_samples)
      known.room_samples = std::min(*room_samples, known.room_samples.value_or(*room_samples));
    if (known.title.empty()) {
      known.record = std::move(record);
      known.title = source;
      continue;
    }
    if (record.signature != known.record.signature)
      refuse(fmt::format("this has another {} than {}",
                         difference(record.signature, known.record.signature), known.title),
             source, "make a plan for each: measurements of different jobs do not add up");
    append(known.record, record);
  }
  if (arguments.sources.size() > 1)
    known.title += fmt::format(" and {} more", arguments.sources.size() - 1);
  return known;
}

ModelRecord find_or_throw(perfmodel::ModelStore& store, const std::string& id) {
  auto record = store.find(id);
  if (!record) refuse("there is no such model", id, "scavenger-plan list names them");
  return *record;
}

// The most similar one of the store.
KnownModel recall_similar(const KnownModel& wanted, perfmodel::ModelStore& store) {
  KnownModel best;
  double most = -1.0;
  for (const perfmodel::ModelSummary& summary : store.list()) {
    ModelRecord record = find_or_throw(store, summary.id);
    const double alike = perfmodel::similarity(record.signature, wanted.record.signature);
    if (alike <= most) continue;
    most = alike;
    best.record = std::move(record);
    best.title = fmt::format("{} ({})", best.record.name, summary.id);
    best.notes = {
        fmt::format("stored measurements of {}, similarity {:.2f}; nothing measured now "
                    "counts",
                    best.title, alike)};
  }
  if (most < 0.0) refuse("the store is empty", "--store", "use a search that measures");
  best.record.signature.samples_per_epoch = wanted.record.signature.samples_per_epoch;
  return best;
}

// The bound of b: what is given, or what the workers have measured. What has no room is computed in
// several passes, so a share that was trained with is within the bound in any case.
std::optional<double> most_of_a_worker(const PlanArguments& arguments, const KnownModel& model) {
  if (arguments.max_local_batch > 0.0) return arguments.max_local_batch;
  if (!model.room_samples) return std::nullopt;
  auto most = static_cast<double>(*model.room_samples);
  for (const perfmodel::TimeRow& row : model.record.times)
    most = std::max(most, std::ceil(row.batch_size / row.workers));
  return most;
}

}  // namespace

std::unique_ptr<perfmodel::ModelStore> open_named_store(const std::string& name,
                                                        const std::string& token_file,
                                                        perfmodel::StoreAccess access) {
  if (!name.starts_with("http://")) return std::make_unique<perfmodel::SqliteStore>(name, access);
  if (token_file.empty())
    refuse("a service answers only who brings its token", "--token-file", "name the token's file");
  return std::make_unique<elastic::RemoteStore>(name, elastic::token_from(token_file, false));
}

std::string full_id(perfmodel::ModelStore& store, const std::string& beginning) {
  std::vector<std::string> found, all;
  for (const perfmodel::ModelSummary& model : store.list()) {
    all.push_back(model.id);
    if (model.id.starts_with(beginning)) found.push_back(model.id);
  }
  if (found.size() == 1) return found.front();
  refuse(found.empty() ? fmt::format("there is no model \"{}\" in the store", beginning)
                       : fmt::format("{} models begin with \"{}\"", found.size(), beginning),
         "--model",
         all.empty() ? "the store is empty" : fmt::format("name one of {}", join_words(all)));
}

KnownModel gather_model(const PlanArguments& arguments) {
  KnownModel known = gather_sources(arguments);
  if (arguments.store.empty()) {
    if (arguments.sources.empty())
      refuse("there is nothing to plan from", "command line",
             "name run folders or a table of observations, or --store FILE --model ID");
    return known;
  }
  const auto opened =
      open_named_store(arguments.store, arguments.token_file, perfmodel::StoreAccess::kReadOnly);
  perfmodel::ModelStore& store = *opened;
  if (arguments.mode == "none" && !arguments.sources.empty()) return recall_similar(known, store);
  if (arguments.sources.empty()) {
    const std::string id = full_id(store, arguments.model);
    known.record = find_or_throw(store, id);
    known.title = fmt::format("{} ({})", known.record.name, id);
  } else if (const auto stored = store.find(known.record.signature.id())) {
    append(known.record, *stored);
    known.notes.push_back("with the store's measurements of the same model");
  }
  return known;
}

std::vector<KnownModel> gather_all(const PlanArguments& arguments) {
  if (arguments.store.empty())
    refuse("a universal model needs a store", "--mode", "name one: --store FILE");
  const auto opened =
      open_named_store(arguments.store, arguments.token_file, perfmodel::StoreAccess::kReadOnly);
  perfmodel::ModelStore& store = *opened;
  std::vector<KnownModel> models;
  for (const perfmodel::ModelSummary& summary : store.list()) {
    KnownModel known;
    known.record = find_or_throw(store, summary.id);
    known.title = fmt::format("{} ({})", known.record.name, summary.id);
    std::set<double> workers, batches;
    for (const perfmodel::TimeRow& row : known.record.times) {
      workers.insert(row.workers);
      batches.insert(row.batch_size / row.workers);
    }
    if (known.record.times.size() >= 3 && workers.size() >= 2 && batches.size() >= 2)
      models.push_back(std::move(known));
  }
  return models;
}

namespace {

// Whether the machines have prices of their own: TYPE:COUNT:SPEED:PRICE.
bool names_prices(const PlanArguments& arguments) {
  return std::ranges::count(arguments.machines, ':') >= 3;
}

// Every K that takes all machines of the types that it takes; those that there are enough for.
void add_machine_counts(const perfmodel::MachinePool& machines, std::set<double>& workers) {
  std::erase_if(workers, [&](double k) { return k > machines.size(); });
  double count = 0.0;
  for (const perfmodel::MachineGroup& group : machines.groups)
    workers.insert(count += group.workers);
}

}  // namespace

perfmodel::PlanRequest make_request(const PlanArguments& arguments, const KnownModel& model,
                                    std::string& details) {
  perfmodel::RowFilter filter = arguments.filter;
  if (arguments.phase > 0) filter.phase = static_cast<std::uint32_t>(arguments.phase);
  const perfmodel::Observations observed = perfmodel::observations_of(model.record, filter);
  perfmodel::PlanRequest request;
  request.times = observed.times;
  request.epochs = observed.epochs;
  request.noise = observed.noise;
  request.noise_scale = observed.noise_scale;
  if (arguments.noise_scale > 0.0) request.noise_scale = arguments.noise_scale;
  for (const perfmodel::EpochRow& row : model.record.epochs)
    if (row.target == observed.target)
      request.runs.push_back({{row.workers, row.batch_size}, row.epochs, row.seconds});
  request.samples_per_epoch = arguments.samples > 0.0
                                  ? arguments.samples
                                  : static_cast<double>(model.record.signature.samples_per_epoch);
  const double price =
      arguments.price >= 0.0 ? arguments.price : model.record.price_per_worker_hour;
  request.price.worker_per_hour = price > 0.0 ? price : 1.0;  // as a search does
  request.price.fixed_per_hour = arguments.fixed_price;
  if (arguments.exact_billing) request.price.billing = perfmodel::kExactBilling;
  request.policy = perfmodel::parse_policy(arguments.policy);
  if (arguments.max_cost > 0.0) request.constraints.max_cost = arguments.max_cost;
  if (!arguments.max_time.empty())
    request.constraints.max_seconds = parse_duration(arguments.max_time, "--max-time");
  request.constraints.max_local_batch = most_of_a_worker(arguments, model);
  if (!arguments.machines.empty())
    request.machines = parse_machines(
        arguments.machines, model.record, observed, request.price.worker_per_hour,
        arguments.shares == "even" ? perfmodel::Sharing::kEven : perfmodel::Sharing::kDynamic);
  request.price_is_assumed = price <= 0.0 && !names_prices(arguments);
  request.plans_without_noise = arguments.mode != "universal";
  request.candidates = perfmodel::natural_candidates(request.times, request.epochs);
  std::set<double> workers, batches;
  for (const perfmodel::Configuration& c : request.candidates) {
    workers.insert(c.workers);
    batches.insert(c.global_batch);
  }
  const auto replace = [](std::set<double>& values, const std::string& text, const char* option) {
    if (text.empty()) return;
    const std::vector<double> given = parse_numbers(text, option);
    values = {given.begin(), given.end()};
  };
  if (request.machines.is_mixed()) add_machine_counts(request.machines, workers);
  replace(workers, arguments.workers, "--workers");
  replace(batches, arguments.batch_sizes, "--batch-sizes");
  request.candidates.clear();
  for (const double k : workers)
    for (const double b : batches)
      if (b >= k) request.candidates.push_back({k, b});
  if (!observed.machine.empty()) details += fmt::format("machine {}", observed.machine);
  if (!observed.target.empty())
    details += fmt::format("{}target {}", details.empty() ? "" : ", ", observed.target);
  if (!request.price_is_assumed)
    details += fmt::format("{}${} per worker and hour", details.empty() ? "" : ", ",
                           request.price.worker_per_hour);
  if (request.constraints.max_local_batch && arguments.max_local_batch <= 0.0)
    details += fmt::format("{}memory for {:.0f} samples of a worker", details.empty() ? "" : ", ",
                           *request.constraints.max_local_batch);
  return request;
}

std::vector<double> parse_numbers(const std::string& text, const char* option) {
  std::vector<double> numbers;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const auto dash = part.find('-');
    const double first = parse_number(part.substr(0, dash), option);
    const double last =
        dash == std::string::npos ? first : parse_number(part.substr(dash + 1), option);
    if (last < first || last - first > 10000.0)
      refuse(fmt::format("\"{}\" is no range", part), option, "give 1-8, or 64,128,256");
    for (double value = first; value <= last; value += 1.0) numbers.push_back(value);
    begin = end + 1;
  }
  return numbers;
}

}  // namespace scavenger
