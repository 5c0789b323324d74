#include "elastic/search/stored_models.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"

namespace scavenger::elastic {
namespace {

std::filesystem::path file_in(const std::filesystem::path& run_folder) {
  return run_folder / "stored_models.json";
}

}  // namespace

std::vector<perfmodel::ModelRecord> all_models(perfmodel::ModelStore& store) {
  std::vector<perfmodel::ModelRecord> models;
  for (const perfmodel::ModelSummary& summary : store.list())
    if (auto record = store.find(summary.id)) models.push_back(std::move(*record));
  return models;
}

void write_stored_models(const std::filesystem::path& run_folder,
                         const std::vector<perfmodel::ModelRecord>& models) {
  nlohmann::json list = nlohmann::json::array();
  for (const perfmodel::ModelRecord& model : models)
    list.push_back(parse_json(to_json_text(model)));
  write_file_atomically(file_in(run_folder), json_text(list, {.indent = 1}) + "\n");
}

std::vector<perfmodel::ModelRecord> read_stored_models(const std::filesystem::path& run_folder) {
  const std::filesystem::path file = file_in(run_folder);
  if (!std::filesystem::exists(file)) return {};
  const nlohmann::json list = try_parse_json(read_file(file)).value_or(nullptr);
  if (!list.is_array())
    throw DataError({.what = "this is no list of stored models",
                     .where = file.string(),
                     .remedy = "remove the file: the search then goes by what it measures"});
  std::vector<perfmodel::ModelRecord> models;
  for (const nlohmann::json& model : list)
    models.push_back(perfmodel::parse_model_record(json_text(model), file.string()));
  return models;
}

std::vector<double> stored_noise_scales(std::span<const perfmodel::ModelRecord> stored,
                                        const perfmodel::ModelSignature& signature) {
  std::map<std::string, perfmodel::NoiseRow> longest;  // by job
  for (const perfmodel::ModelRecord& record : stored) {
    if (record.signature.architecture != signature.architecture ||
        record.signature.data_set != signature.data_set)
      continue;
    for (const perfmodel::NoiseRow& row : record.noise) {
      perfmodel::NoiseRow& known = longest[row.job];
      if (row.noise_scale > 0.0 && row.iterations > known.iterations) known = row;
    }
  }
  std::vector<double> scales;
  for (const auto& [job, row] : longest)
    if (row.noise_scale > 0.0) scales.push_back(row.noise_scale);
  return scales;
}

}  // namespace scavenger::elastic
