#include "elastic/vms/vm_calibration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "elastic/events/event_log.h"
#include "elastic/history/run_summary.h"
#include "elastic/vms/table_file.h"
#include "elastic/vms/vm_race_numbers.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/json_text.h"
#include "runtime/config/config_file.h"
#include "runtime/schema/json.h"

namespace scavenger::elastic {
namespace {

constexpr const char* kHeader = "type,samples_per_second,measured";
// Of an iteration: so many that it takes longer than the 0.1 s in which a share of a core is dealt
// out, and that VMs with many cores have work for all of them.
constexpr double kSamples = 8192.0;

[[noreturn]] void refuse(std::string what, std::string where, std::string remedy) {
  throw InputError(
      {.what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

// So far from any machine's that no price of a sample could be reckoned with.
constexpr double kLeastRate = 1e-3, kLargestRate = 1e15;

std::vector<Calibration> calibrations_so_far(const std::filesystem::path& file) {
  return std::filesystem::exists(file) ? read_calibrations(file) : std::vector<Calibration>();
}

void write_calibrations(const std::filesystem::path& file, const std::vector<Calibration>& all) {
  std::string text = std::string(kHeader) + "\n";
  for (const Calibration& one : all)
    text += fmt::format("{},{:.6g},{}\n", one.type, one.samples_per_second, one.measured_utc);
  write_file_atomically(file, text);
}

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

}  // namespace

std::string calibration_job(const JobConfig& job, const MachineCatalogue& catalogue,
                            const std::string& type) {
  Json provider = parse_json<Json>(job.provider.settings);
  if (!provider.contains("vms"))
    refuse(fmt::format("machines of {} have no types to calibrate", name_of(job.provider.type)),
           "provider.type",
           "name a configuration whose provider is emulated, gcp, kubernetes or slurm");
  std::set<std::string> types;  // one may be in several zones
  for (const VmType& one : vm_types_of(catalogue))
    if (!(one.gpus > 0.0))
      types.insert(one.features.name);  // the standard job is too small for one
  if (!types.contains(type))
    refuse(fmt::format("the provider has no type \"{}\" with cores and a price", type), "calibrate",
           fmt::format("name one of its types: {}", fmt::join(types, ", ")));
  provider["vms"] = {{"mode", "auto"}, {"types", type}, {"max_vms", 1}};
  Json cluster = parse_json<Json>(json_text(to_json(job))).at("cluster");
  cluster["workers"] = 1;
  const Json split = {{"format", "synthetic"}, {"samples", 2.0 * kSamples}, {"feature_count", 128}};
  Json test = split;
  test["first_sample"] = 2.0 * kSamples;
  const Json standard = {{"name", "calibration"},
                         {"data", {{"train", split}, {"test", test}, {"classes", 10}}},
                         {"model", {{"type", "mlp"}, {"hidden", {256, 256}}}},
                         {"optimizer", {{"type", "sgd"}, {"learning_rate", 0.01}}},
                         {"batch_size", kSamples},
                         {"cluster", cluster},
                         {"provider", provider},
                         {"evaluation", {{"every_epochs", 100000}}},
                         {"stop", {{"max_iterations", 40}}}};
  return json_text(standard);
}

Calibration read_calibration_run(const std::filesystem::path& run_folder, const std::string& type) {
  RunSummary summary;
  EventLogReader log(run_folder / "events.jsonl");
  while (const auto logged = log.next()) summary.apply(*logged);
  for (const perfmodel::TimeRow& row : measured_machines(summary.numbers()).record.compute)
    if (row.machine == type && row.batch_size == kSamples)
      return {type, kSamples / row.seconds, utc_timestamp()};
  throw DataError({.what = fmt::format("the run has too few iterations on {}", type),
                   .where = run_folder.string(),
                   .remedy = "look at its events.jsonl, then calibrate again"});
}

std::vector<Calibration> read_calibrations(const std::filesystem::path& file) {
  TableFile table(file, "name a file that scavenger-ctl calibrate has written");
  for (const std::string& column : cells_of_line(kHeader)) table.require_column(column);
  std::vector<Calibration> calibrations;
  while (table.next()) {
    Calibration one;
    one.type = table.required_text("type");
    one.samples_per_second = table.required_number("samples_per_second");
    if (one.samples_per_second < kLeastRate || one.samples_per_second > kLargestRate)
      table.refuse(
          fmt::format("{:g} samples per second are no rate of a machine", one.samples_per_second));
    one.measured_utc = table.text("measured");
    calibrations.push_back(std::move(one));
  }
  return calibrations;
}

void try_calibrations(const std::filesystem::path& file) {
  write_calibrations(file, calibrations_so_far(file));
}

void keep_calibration(const std::filesystem::path& file, const Calibration& calibration) {
  std::vector<Calibration> all = calibrations_so_far(file);
  std::erase_if(all, [&](const Calibration& one) { return one.type == calibration.type; });
  all.push_back(calibration);
  write_calibrations(file, all);
}

std::size_t apply_calibrations(std::vector<VmType>& types,
                               const std::vector<Calibration>& calibrations) {
  std::map<std::string, double> measured;
  for (const Calibration& one : calibrations) measured[one.type] = one.samples_per_second;
  std::vector<double> ratios;
  const auto is_calibrated = [&](const VmType& type) {
    return type.features.rate && !(type.gpus > 0.0) && measured.contains(type.features.name);
  };
  for (const VmType& type : types)
    if (is_calibrated(type))
      ratios.push_back(measured.at(type.features.name) / *type.features.rate);
  if (ratios.size() < 2) return 0;
  const double unit = middle(ratios);
  for (VmType& type : types) {
    if (!is_calibrated(type)) continue;
    const double factor = measured.at(type.features.name) / unit / *type.features.rate;
    *type.features.rate *= factor;
    if (type.features.core_rate) *type.features.core_rate *= factor;
    type.is_calibrated = true;
  }
  return ratios.size();
}

}  // namespace scavenger::elastic
