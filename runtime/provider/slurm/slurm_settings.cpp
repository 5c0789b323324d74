#include "runtime/provider/slurm/slurm_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>

#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/schema/json.h"

namespace scavenger {
namespace {

std::vector<std::string> words_in(const Json& object, const char* key) {
  return object.at(key).get<std::vector<std::string>>();
}

// A kind of provider.machines, which has what `otherwise` has except for what it says itself.
SlurmKind kind_of(const Json& object, const SlurmKind& otherwise) {
  SlurmKind kind = otherwise;
  kind.machine = machine_description(object, otherwise.machine);
  kind.partition = object.value("partition", otherwise.partition);
  kind.workers_per_job = object.value("workers_per_job", otherwise.workers_per_job);
  kind.time_limit_minutes = object.value("time_limit_minutes", otherwise.time_limit_minutes);
  kind.options = object.value("options", otherwise.options);
  return kind;
}

void check_types(const std::vector<SlurmKind>& kinds) {
  std::set<std::string> types;
  for (const SlurmKind& kind : kinds)
    if (!types.insert(kind.machine.type).second)
      throw InputError({.what = fmt::format("two kinds are called \"{}\"", kind.machine.type),
                        .where = "provider.machines",
                        .remedy = "give each kind a `type` of its own"});
}

bool is_option(const std::string& word, std::initializer_list<const char*> names) {
  return std::ranges::any_of(
      names, [&](const std::string& name) { return word == name || word.starts_with(name + "="); });
}

// Workers come and go one by one. The components of a heterogeneous job, and the tasks of an array,
// are what one submission makes of several jobs, of which we would know the first one only.
void check_words(const std::vector<std::string>& words, const char* where) {
  for (const std::string& word : words) {
    if (word == ":" || is_option(word, {"--het-group", "--pack-group"}))
      throw InputError({.what = fmt::format("\"{}\" makes a heterogeneous job, which starts and "
                                            "ends as a whole, and workers come and go one by one",
                                            word),
                        .where = where,
                        .remedy = "list the kinds of jobs in provider.machines"});
    if (is_option(word, {"--array", "-a"}))
      throw InputError({.what = fmt::format("\"{}\" makes many jobs of each submission", word),
                        .where = where,
                        .remedy = "leave it out; cluster.workers and provider.workers_per_job say "
                                  "how many there are"});
  }
}

}  // namespace

SlurmSettings slurm_settings(const ProviderConfig& config) {
  const Json json = parse_json<Json>(config.settings);
  SlurmSettings settings;
  SlurmKind common = kind_of(json, {});
  common.machine.type = common.partition;  // "type" is the provider's here
  settings.kinds.clear();
  for (const Json& machine : json.at("machines"))
    settings.kinds.push_back(kind_of(machine, common));
  if (settings.kinds.empty()) settings.kinds = {common};
  check_types(settings.kinds);
  check_words(common.options, "provider.options");
  for (const SlurmKind& kind : settings.kinds) check_words(kind.options, "provider.machines");
  settings.uses_allocation = json.at("allocation");
  settings.launch_options = words_in(json, "launch_options");
  check_words(settings.launch_options, "provider.launch_options");
  settings.launch_prefix = words_in(json, "launch_prefix");
  settings.prelude = words_in(json, "prelude");
  settings.wait_seconds = json.at("wait_seconds");
  settings.notice_seconds = json.at("notice_seconds");
  settings.replace_seconds = json.at("replace_seconds");
  settings.interface = json.at("interface");
  settings.program_folder = json.at("program_folder").get<std::string>();
  return settings;
}

MachineCatalogue slurm_catalogue(const SlurmSettings& settings) {
  MachineCatalogue catalogue;
  for (const SlurmKind& kind : settings.kinds)
    catalogue.entries.push_back(catalogue_entry(kind.machine));
  return catalogue;
}

}  // namespace scavenger
