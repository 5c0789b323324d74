#include "elastic/vms/vm_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/schema/input_file.h"

namespace scavenger::elastic {
namespace {

constexpr const char* kTableRemedy = "name a table of machine types (docs/machines.md)";

[[noreturn]] void refuse(const std::filesystem::path& file, std::size_t line, std::string what) {
  throw InputError({.what = std::move(what),
                    .where = fmt::format("{}:{}", file.string(), line),
                    .remedy = "docs/machines.md has the columns of a catalogue"});
}

std::vector<std::string> cells_of(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::vector<std::string> cells;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) {
    const auto begin = cell.find_first_not_of(' '), end = cell.find_last_not_of(' ');
    cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  return cells;
}

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

class Row final {
 public:
  Row(const std::filesystem::path& file, std::size_t line, std::map<std::string, std::string> cells)
      : file_(file), line_(line), cells_(std::move(cells)) {}

  std::string text(const std::string& column) const {
    const auto found = cells_.find(column);
    return found == cells_.end() ? "" : found->second;
  }
  std::optional<double> number(const std::string& column) const {
    const std::string cell = text(column);
    if (cell.empty()) return std::nullopt;
    const auto value = positive_number(cell);
    if (!value)
      refuse(file_, line_, fmt::format("{} \"{}\" is not a positive number", column, cell));
    return value;
  }
  double required(const std::string& column) const {
    const auto value = number(column);
    if (!value) refuse(file_, line_, fmt::format("there is no {}", column));
    return *value;
  }

 private:
  const std::filesystem::path& file_;
  std::size_t line_;
  std::map<std::string, std::string> cells_;
};

VmType type_of(const Row& row) {
  VmType type;
  type.features.name = row.text("type");
  type.features.family = row.text("family");
  if (type.features.family.empty()) type.features.family = family_of(type.features.name);
  const double cores = row.required("vcpu");
  type.features.rate = row.number("coremark").value_or(cores);
  type.features.core_rate = *type.features.rate / cores;
  type.features.memory_bandwidth = row.number("mem_gb_s");
  type.features.link = row.number("nic_gbit");
  type.price = row.required("price");
  type.spot_price = row.number("spot_price");
  type.spot_losses = row.number("spot_losses");
  type.vcpus = cores;
  type.memory_gib = row.number("ram_gib");
  type.max_count = row.number("max_count");
  type.gpus = row.number("gpus").value_or(0.0);
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
  std::istringstream lines{
      std::string(without_byte_order_mark(read_input_file(file, kTableRemedy)))};
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> header = cells_of(line);
  for (const std::string& column : header)
    if (!kColumns.contains(column))
      refuse(file, 1, fmt::format("there is no column \"{}\"", column));
  std::vector<VmType> types;
  std::set<std::string> names;
  std::size_t scored = 0, to_score = 0;
  for (std::size_t number = 2; std::getline(lines, line); ++number) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.empty()) continue;
    if (cells.size() > header.size()) refuse(file, number, "there are more cells than columns");
    std::map<std::string, std::string> named;
    for (std::size_t i = 0; i < cells.size(); ++i) named[header[i]] = cells[i];
    if (named["type"].empty()) refuse(file, number, "there is no type");
    if (!names.insert(named["type"]).second)
      refuse(file, number, fmt::format("type {} is there twice", named["type"]));
    const bool has_score = !named["coremark"].empty();
    types.push_back(type_of(Row(file, number, std::move(named))));
    if (types.back().gpus > 0.0) continue;
    ++to_score;
    if (has_score) ++scored;
  }
  if (types.empty()) refuse(file, 1, "the catalogue has no machine type");
  if (scored != 0 && scored != to_score)
    refuse(file, 1, "coremark is given for some types only: give it for all, or for none");
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
  std::istringstream lines{
      std::string(without_byte_order_mark(read_input_file(file, kTableRemedy)))};
  std::string line;
  std::getline(lines, line);
  if (!line.starts_with("MACHINE_TYPE;CPU;vCores;COREMARK_SCORE"))
    refuse(file, 1, "the header is not MACHINE_TYPE;CPU;vCores;COREMARK_SCORE;...");
  struct Score {
    double sum = 0.0;
    double processors = 0.0;
  };
  std::map<std::string, Score> scores;  // a type may come with several processors: their mean
  for (std::size_t number = 2; std::getline(lines, line); ++number) {
    std::ranges::replace(line, ',', '\n');  // of thousands
    std::ranges::replace(line, ';', ',');
    std::vector<std::string> cells = cells_of(line);
    if (cells.empty() || cells[0].empty()) continue;  // between families
    if (cells.size() < 4) refuse(file, number, "there are fewer than four cells");
    std::erase_if(cells[3], [](char c) { return c == '\n' || c == ' '; });
    const Row row(file, number, {{"type", cells[0]}, {"COREMARK_SCORE", cells[3]}});
    scores[cells[0]].sum += row.required("COREMARK_SCORE");
    scores[cells[0]].processors += 1.0;
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
  for (const std::string& pattern : cells_of(patterns))
    if (fits(name, pattern)) return true;
  return false;
}

}  // namespace scavenger::elastic
