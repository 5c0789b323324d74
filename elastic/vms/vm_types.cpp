#include "elastic/vms/vm_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "elastic/vms/table_file.h"
#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

constexpr const char* kColumnsRemedy =
    "docs/machines.md has the columns of a table of machine types";

// "n2d" of "n2d-standard-8": what providers name alike has the same processor.
std::string family_of(const std::string& type) {
  return type.substr(0, type.find_first_of("-."));
}

// All types with one kind of GPU are as fast for one worker, and beside others nothing compares
// them. Of a GPU's memory a catalogue says nothing, and the host's is not what a share must fit in.
void describe_gpu(VmType& type) {
  if (!(type.gpus > 0.0)) return;
  type.features.family = processor_of(type);
  type.features.rate = type.features.core_rate = 1.0;
  type.memory_gib.reset();
}

std::optional<double> sum_of(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::optional(*a + *b) : std::nullopt;
}

VmType type_of(const TableFile& row) {
  VmType type;
  type.features.name = row.required_text("type");
  type.features.family = row.text("family");
  if (type.features.family.empty()) type.features.family = family_of(type.features.name);
  const double cores = row.required_number("vcpu");
  type.features.rate = row.number("coremark").value_or(cores);
  type.features.core_rate = *type.features.rate / cores;
  type.features.memory_bandwidth = row.number("mem_gb_s");
  type.features.link = row.number("nic_gbit");
  type.price = row.required_number("price");
  type.spot_price = row.number("spot_price");
  type.spot_losses = row.number("spot_losses", /*or_zero=*/true);
  type.vcpus = cores;
  type.memory_gib = row.number("ram_gib");
  type.max_count = row.number("max_count");
  if (type.max_count && *type.max_count < 1.0) row.refuse("max_count is less than 1");
  type.gpus = row.number("gpus", /*or_zero=*/true).value_or(0.0);
  type.gpu_type = row.text("gpu_type");
  describe_gpu(type);
  return type;
}

bool fits(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*')
    return fits(name, pattern.substr(1)) || (!name.empty() && fits(name.substr(1), pattern));
  return !name.empty() && name.front() == pattern.front() &&
         fits(name.substr(1), pattern.substr(1));
}

}  // namespace

std::vector<VmType> read_vm_types(const std::filesystem::path& file) {
  static const std::set<std::string> kColumns = {
      "type",  "family",     "vcpu",        "coremark",  "mem_gb_s", "nic_gbit", "ram_gib",
      "price", "spot_price", "spot_losses", "max_count", "gpus",     "gpu_type"};
  TableFile table(file, kColumnsRemedy);
  for (const std::string& column : table.columns())
    if (!kColumns.contains(column))
      table.refuse_table(fmt::format("there is no column \"{}\"", column));
  std::vector<VmType> types;
  std::set<std::string> names;
  std::size_t scored = 0, to_score = 0;
  while (table.next()) {
    types.push_back(type_of(table));
    const std::string& name = types.back().features.name;
    if (!names.insert(name).second) table.refuse(fmt::format("type {} is there twice", name));
    if (types.back().gpus > 0.0) continue;
    ++to_score;
    if (!table.text("coremark").empty()) ++scored;
  }
  if (types.empty()) table.refuse_table("the catalogue has no machine type");
  if (scored != 0 && scored != to_score)
    table.refuse_table("coremark is given for some types only: give it for all, or for none");
  return types;
}

std::vector<VmType> vm_types_of(const MachineCatalogue& catalogue) {
  std::vector<VmType> types;
  for (const CatalogueEntry& entry : catalogue.entries) {
    if (entry.type.empty() || !entry.on_demand || !(entry.on_demand->per_hour > 0.0) ||
        (!(entry.cores > 0.0) && !(entry.gpus > 0.0)))
      continue;
    VmType type;
    type.features.name = entry.type;
    type.features.family = family_of(entry.type);
    type.features.rate = entry.cores;
    type.features.core_rate = std::min(1.0, entry.cores);  // of a share of one core
    if (entry.cores > 0.0) type.vcpus = entry.cores;
    if (entry.memory_gib > 0.0) type.memory_gib = entry.memory_gib;
    if (entry.link_megabits > 0.0) type.features.link = entry.link_megabits / 1000.0;
    type.price = entry.on_demand->per_hour;
    type.minimum_seconds = entry.on_demand->minimum_seconds;
    if (entry.spot) type.spot_price = entry.spot->per_hour;
    if (entry.count) type.max_count = static_cast<double>(*entry.count);
    type.gpus = entry.gpus;
    type.gpu_type = entry.gpu_type;
    describe_gpu(type);
    const auto other = std::ranges::find_if(
        types, [&](const VmType& one) { return one.features.name == type.features.name; });
    if (other == types.end()) {
      types.push_back(std::move(type));
      continue;
    }
    const std::optional<double> count = sum_of(type.max_count, other->max_count);
    if (type.price < other->price) *other = std::move(type);
    other->max_count = count;
  }
  return types;
}

std::size_t score_types(std::vector<VmType>& types, const std::filesystem::path& file) {
  TableFile table(file, kColumnsRemedy, ';');
  for (const char* const column : {"MACHINE_TYPE", "COREMARK_SCORE"}) table.require_column(column);
  struct Score {
    double sum = 0.0;
    double processors = 0.0;
  };
  std::map<std::string, Score> scores;  // a type may come with several processors: their mean
  while (table.next()) {
    const std::string type = table.text("MACHINE_TYPE");
    if (type.empty()) continue;  // between families
    std::string digits = table.required_text("COREMARK_SCORE");
    std::erase(digits, ',');  // of thousands
    const auto score = positive_number(digits);
    if (!score) table.refuse(fmt::format("the score \"{}\" is not a positive number", digits));
    scores[type].sum += *score;
    scores[type].processors += 1.0;
  }
  std::size_t unknown = 0;
  std::erase_if(types, [&](VmType& type) {
    const auto found = scores.find(type.features.name);
    if (found == scores.end()) {
      ++unknown;
      return true;
    }
    type.features.rate = found->second.sum / found->second.processors;
    if (type.vcpus) type.features.core_rate = *type.features.rate / *type.vcpus;
    return false;
  });
  return unknown;
}

std::string processor_of(const VmType& type) {
  if (!(type.gpus > 0.0)) return "cores";
  return type.gpu_type.empty() ? "the GPU of " + type.features.name : type.gpu_type;
}

bool fits_patterns(const std::string& name, const std::string& patterns) {
  for (const std::string& pattern : cells_of_line(patterns))
    if (fits(name, pattern)) return true;
  return false;
}

}  // namespace scavenger::elastic
