#include "runtime/config/config_file.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/base/json_text.h"
#include "runtime/config/consistency.h"
#include "runtime/config/job_config_json.h"
#include "runtime/config/paths.h"
#include "runtime/config/schema_text.h"
#include "runtime/schema/overrides.h"
#include "runtime/schema/schema_validator.h"

namespace scavenger {
namespace {

const Json& schema() {
  static const Json kSchema = parse_json<Json>(schema_text());
  return kSchema;
}

// Throws the violation that comes first in the document.
void throw_first(const std::vector<Violation>& violations, const ValuePlaces& places) {
  const auto first = std::min_element(violations.begin(), violations.end(),
                                      [&](const Violation& a, const Violation& b) {
                                        return places.order(a.place) < places.order(b.place);
                                      });
  if (first != violations.end()) throw places.error(*first);
}

// Where the configuration does not say how to search. Who names several numbers of workers, or
// several batch sizes, leaves the job a choice: then it looks for the best of them, and what is not
// named stays as configured. A job whose K and B are fixed trains with these.
void settle_search_mode(JobConfig& config) {
  const bool is_fixed = config.search.workers.empty() && config.search.batch_sizes.empty();
  if (is_fixed) return;
  SearchConfig search = config.search;
  if (search.workers.empty()) search.workers = {config.cluster.workers};
  if (search.batch_sizes.empty()) search.batch_sizes = {config.batch_size};
  if (searched_sizes(search).size() < 2) return;
  search.mode = SearchMode::kAuto;
  config.search = search;
}

JobConfig convert_checked(LocatedJson& config) {
  throw_first(apply_schema(schema(), config.document), config.places);
  return job_config_from(config.document);
}

std::string read_config_text(const std::filesystem::path& path) {
  try {
    return read_file(path);
  } catch (const SystemError& error) {
    throw ConfigError({.what = error.problem().what,
                       .where = path.string(),
                       .remedy = "name a configuration, such as configs/fashion_mlp.json"});
  }
}

void make_store_paths_absolute(ModelStoreConfig& store, const ValuePlaces& places,
                               const std::filesystem::path& document_folder) {
  const auto make_absolute = [&](std::filesystem::path& path, const char* place) {
    if (path.empty()) return;
    const bool is_override = places.is_override(JsonPointer(place));
    path = (is_override ? std::filesystem::current_path() : document_folder) / path;
    path = path.lexically_normal();
  };
  make_absolute(store.path, "/model_store/path");
  make_absolute(store.token_file, "/model_store/token_file");
}

void append(std::vector<Violation>& all, std::vector<Violation> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

}  // namespace

JobConfig load_job_config(const std::filesystem::path& path, std::span<const std::string> overrides,
                          DataFiles data_files) {
  return job_config_from_text(read_config_text(path), path.string(),
                              std::filesystem::absolute(path).parent_path(), overrides, data_files);
}

JobConfig job_config_from_text(const std::string& text, const std::string& name,
                               const std::filesystem::path& folder,
                               std::span<const std::string> overrides, DataFiles data_files) {
  LocatedJson located = parse_located_json(text, name);
  apply_overrides(overrides, located);
  const bool names_search = located.document.contains(JsonPointer("/search/mode"));
  JobConfig config = convert_checked(located);
  // One that seeks its machine type searches for nothing else.
  if (!names_search && !seeks_machine_type(config.provider)) settle_search_mode(config);
  make_paths_absolute(config, located.places, folder, std::filesystem::current_path());
  make_store_paths_absolute(config.model_store, located.places, folder);

  std::vector<Violation> violations = find_inconsistencies(config);
  if (data_files == DataFiles::kMustExist) append(violations, find_missing_files(config));
  throw_first(violations, located.places);
  return config;
}

JobConfig parse_resolved_config(const std::string& text, const std::string& where) {
  LocatedJson located = parse_located_json(text, where);
  JobConfig config = convert_checked(located);
  std::vector<Violation> violations = find_inconsistencies(config);
  append(violations, find_relative_paths(config));
  throw_first(violations, located.places);
  return config;
}

JobConfig read_resolved_config(const std::filesystem::path& path) {
  return parse_resolved_config(read_file(path), path.string());
}

std::filesystem::path config_file_of(const std::filesystem::path& run_or_config) {
  const bool is_run = std::filesystem::is_directory(run_or_config);
  return is_run ? run_or_config / "config.json" : run_or_config;
}

JobConfig config_of(const std::filesystem::path& run_or_config) {
  const std::filesystem::path file = config_file_of(run_or_config);
  return file == run_or_config ? load_job_config(file, {}, DataFiles::kNotChecked)
                               : read_resolved_config(file);
}

bool seeks_machine_type(const ProviderConfig& provider) {
  const Json settings = parse_json<Json>(provider.settings);
  const auto found = settings.find("vms");
  return found != settings.end() && found->at("mode") == "auto";
}

bool searches_size(const JobConfig& config) {
  return config.search.mode != SearchMode::kOff && !seeks_machine_type(config.provider);
}

}  // namespace scavenger
