#include "elastic/planning/plan_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "elastic/model_service/model_service.h"
#include "elastic/model_service/remote_store.h"
#include "elastic/plan/run_record.h"
#include "perfmodel/store/observation_table.h"
#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/schema/input_file.h"

namespace scavenger::elastic {
namespace {

namespace fs = std::filesystem;
using perfmodel::ModelRecord;

[[noreturn]] void refuse(std::string what, std::string where, std::string remedy) {
  throw InputError(
      {.what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
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

RecordedRun read_source(const std::string& source, const PlanSources& sources) {
  std::error_code ignored;
  if (fs::is_directory(source, ignored)) return read_run(source);
  const char* const remedy =
      "name a run folder, a table (CSV or JSON), or what scavenger-plan export wrote";
  if (!fs::exists(source, ignored)) refuse("there is no such file or folder", source, remedy);
  const std::string text = read_input_file(source, remedy);
  RecordedRun read;
  if (is_export(text))
    read.record = perfmodel::parse_model_record(text, source);
  else
    read.record = perfmodel::read_observation_table(
        source, {parse_pairs(sources.columns, "--column"), parse_pairs(sources.rows, "--where")},
        sources.samples_per_epoch);
  return read;
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
  append_new(record.compute, other.compute);
}

std::string difference(const perfmodel::ModelSignature& a, const perfmodel::ModelSignature& b) {
  std::vector<std::string> parts;
  if (a.architecture != b.architecture || a.parameters != b.parameters) parts.push_back("model");
  if (a.data_set != b.data_set || a.samples_per_epoch != b.samples_per_epoch)
    parts.push_back("data");
  if (a.optimizer != b.optimizer) parts.push_back("optimizer");
  return join_words(parts);
}

KnownModel gather_sources(const PlanSources& sources) {
  KnownModel known;
  for (const std::string& source : sources.paths) {
    auto [record, room_samples, bytes_per_sample, spot, lengthened, state_is_elsewhere, used_gpus] =
        read_source(source, sources);
    append_new(known.lengthened, lengthened);
    known.state_is_elsewhere = known.state_is_elsewhere || state_is_elsewhere;
    known.used_gpus = known.used_gpus || used_gpus;
    if (bytes_per_sample)
      known.bytes_per_sample = std::max(*bytes_per_sample, known.bytes_per_sample.value_or(0));
    for (const auto& [type, exposure] : spot)
      for (const perfmodel::Lifetime& life : exposure.lives) known.spot[type].add(life);
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
  if (sources.paths.size() > 1)
    known.title += fmt::format(" and {} more", sources.paths.size() - 1);
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

}  // namespace

Knowledge parse_knowledge(const std::string& mode) {
  if (mode == "measured") return Knowledge::kMeasured;
  if (mode == "none") return Knowledge::kSimilar;
  if (mode == "universal") return Knowledge::kUniversal;
  refuse(fmt::format("there is no mode \"{}\"", mode), "--mode", "use measured, none or universal");
}

std::unique_ptr<perfmodel::ModelStore> open_store(const StoreAddress& address,
                                                  perfmodel::StoreAccess access) {
  if (!address.name.starts_with("http://"))
    return std::make_unique<perfmodel::SqliteStore>(address.name, access);
  if (address.token_file.empty())
    refuse("a service answers only who brings its token", "--token-file", "name the token's file");
  return std::make_unique<RemoteStore>(address.name, token_from(address.token_file, false));
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

KnownModel gather_model(const PlanSources& sources, Knowledge knowledge) {
  KnownModel known = gather_sources(sources);
  if (sources.store.name.empty()) {
    if (sources.paths.empty())
      refuse("there is nothing to plan from", "command line",
             "name run folders or a table of observations, or --store FILE --model ID");
    return known;
  }
  const auto store = open_store(sources.store, perfmodel::StoreAccess::kReadOnly);
  if (knowledge == Knowledge::kSimilar && !sources.paths.empty())
    return recall_similar(known, *store);
  if (sources.paths.empty()) {
    const std::string id = full_id(*store, sources.model);
    known.record = find_or_throw(*store, id);
    known.title = fmt::format("{} ({})", known.record.name, id);
  } else if (const auto stored = store->find(known.record.signature.id())) {
    append(known.record, *stored);
    known.notes.push_back("with the store's measurements of the same model");
  }
  return known;
}

std::vector<KnownModel> gather_all(const StoreAddress& address) {
  if (address.name.empty())
    refuse("a universal model needs a store", "--mode", "name one: --store FILE");
  const auto store = open_store(address, perfmodel::StoreAccess::kReadOnly);
  std::vector<KnownModel> models;
  for (const perfmodel::ModelSummary& summary : store->list()) {
    KnownModel known;
    known.record = find_or_throw(*store, summary.id);
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

}  // namespace scavenger::elastic
