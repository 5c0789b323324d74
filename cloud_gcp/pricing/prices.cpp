#include "cloud_gcp/pricing/prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "cloud_gcp/pricing/price_text.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"
#include "runtime/base/text.h"

namespace scavenger::gcp {
namespace {

using json = nlohmann::json;

constexpr double kMinimumSeconds = 60.0;
constexpr unsigned kMemoryStepMib = 256;

[[noreturn]] void refuse_catalog(const std::string& why, const std::string& where) {
  throw InputError({.what = "this is no price catalog: " + why,
                    .where = where,
                    .remedy = "take the form of cloud_gcp/pricing/prices/*.json"});
}

// The numbers of a catalog.
class Amounts final {
 public:
  explicit Amounts(const std::string& where) : where_(where) {}

  double one(const json& value) const {
    const auto amount = value.get<double>();
    if (!is_amount(amount)) refuse_catalog(fmt::format("{} is no amount", amount), where_);
    return amount;
  }
  UnitPrices prices(const json& list) const {
    return {.vcpu = one(list.at(0)), .gib = one(list.at(1)), .gpu = one(list.at(2))};
  }
  MachineShape shape(const json& list) const {
    return {.vcpus = one(list.at(0)),
            .memory_gib = one(list.at(1)),
            .gpus = list.size() > 3 ? one(list.at(3)) : 0.0};
  }

 private:
  const std::string& where_;
};

template <typename Value>
std::vector<std::string> names_of(const std::map<std::string, Value>& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return names;
}

[[noreturn]] void refuse(const std::string& what, const std::string& wrong,
                         const std::vector<std::string>& known, const std::string& otherwise) {
  const std::string nearest = nearest_word(wrong, known);
  throw ConfigError(
      {.what = what,
       .where = "provider",
       .remedy = nearest.empty() ? otherwise : fmt::format("did you mean \"{}\"?", nearest)});
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text)
    if (c == '-')
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

std::optional<unsigned> number_of(const std::string& word) {
  unsigned number = 0;
  const auto end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return number;
}

// Shared cores are charged by the part of a vCPU that they may use in the long run.
std::optional<double> vcpus_of(const std::string& series, const std::string& word) {
  if (series == "e2") {
    if (word == "micro") return 0.25;
    if (word == "small") return 0.5;
    if (word == "medium") return 1.0;
  }
  const auto count = number_of(word);
  if (!count || *count == 0) return std::nullopt;
  const bool is_sold = *count % 2 == 0 || (series == "n1" && *count == 1);
  return is_sold ? std::optional(static_cast<double>(*count)) : std::nullopt;
}

// "a2-highgpu-1g" is of the series "a2-highgpu", "n2-standard-8" of "n2".
bool is_of_series(const std::string& machine_type, const std::string& series) {
  return machine_type.size() > series.size() && machine_type.starts_with(series) &&
         machine_type[series.size()] == '-';
}

}  // namespace

bool is_amount(double value) {
  constexpr double kLargest = 1e6;
  return value >= 0.0 && value < kLargest;
}

bool is_custom_type(std::string_view machine_type) {
  return machine_type.starts_with("custom-") ||
         machine_type.find("-custom-") != std::string_view::npos;
}

CustomType parse_custom_type(const std::string& machine_type) {
  const auto fail = [&machine_type](const std::string& why) {
    throw ConfigError(
        {.what = fmt::format("\"{}\" is no custom machine type: {}", machine_type, why),
         .where = "provider",
         .remedy = "write SERIES-custom-VCPUS-MIB, such as n2-custom-8-16384"});
  };
  std::vector<std::string> words = words_of(machine_type);
  if (words.front() == "custom") words.insert(words.begin(), "n1");
  if (words.size() == 5 && words.back() == "ext")
    fail("extended memory has a price of its own, which is not known here");
  if (words.size() != 4 || words[1] != "custom") fail("it has not three parts");
  const auto vcpus = vcpus_of(words[0], words[2]);
  if (!vcpus) fail("the number of vCPUs is even (1 is sold as N1, too)");
  const auto mib = number_of(words[3]);
  if (!mib || *mib == 0 || *mib % kMemoryStepMib != 0) fail("memory is a multiple of 256 MiB");
  return {.series = words[0], .shape = {.vcpus = *vcpus, .memory_gib = *mib / 1024.0, .gpus = 0.0}};
}

const PriceCatalog& PriceCatalog::built_in() {
  static const PriceCatalog catalog = parse(gcp_price_text(), "built-in prices");
  return catalog;
}

PriceCatalog PriceCatalog::parse(const std::string& text, const std::string& where) {
  try {
    const json document = parse_json(text);
    PriceCatalog catalog;
    catalog.as_of_ = document.at("as_of");
    const Amounts amounts(where);
    for (const auto& [series, factor] : document.at("custom_factors").items())
      catalog.custom_factors_[series] = amounts.one(factor);
    for (const auto& [name, shape] : document.at("machine_types").items())
      catalog.shapes_[name] = amounts.shape(shape);
    for (const auto& [name, region] : document.at("regions").items()) {
      Region& made = catalog.regions_[name];
      for (const auto& [series, prices] : region.at("series").items())
        made.series[series] = {amounts.prices(prices.at(0)), amounts.prices(prices.at(1))};
      for (const auto& [gpu, prices] : region.at("gpus").items())
        made.gpus[gpu] = {{.vcpu = 0.0, .gib = 0.0, .gpu = amounts.one(prices.at(0))},
                          {.vcpu = 0.0, .gib = 0.0, .gpu = amounts.one(prices.at(1))}};
    }
    return catalog;
  } catch (const json::exception& error) {
    refuse_catalog(error.what(), where);
  }
}

const PriceCatalog::Region& PriceCatalog::region(const std::string& name) const {
  const auto found = regions_.find(name);
  if (found == regions_.end())
    refuse(fmt::format("the prices of {} know no region \"{}\"", as_of_, name), name, regions(),
           "zones are written as us-central1-a");
  return found->second;
}

void PriceCatalog::require_region(const std::string& name) const {
  if (regions_.contains(name)) return;
  const std::vector<std::string> known = regions();
  const std::string nearest = nearest_word(name, known);
  throw ConfigError({.what = fmt::format("there are no prices of \"{}\"", name),
                     .where = "--region",
                     .remedy = nearest.empty() ? "use one of " + join_words(known)
                                               : fmt::format("did you mean \"{}\"?", nearest)});
}

MachineShape PriceCatalog::shape(const std::string& machine_type) const {
  if (is_custom_type(machine_type)) return parse_custom_type(machine_type).shape;
  const auto found = shapes_.find(machine_type);
  if (found == shapes_.end())
    refuse(fmt::format("the prices of {} know no machine type \"{}\"", as_of_, machine_type),
           machine_type, machine_types(), "use a predefined type without local disks");
  return found->second;
}

double PriceCatalog::per_hour(const std::string& machine_type, const std::string& region_name,
                              Provisioning provisioning, const AddedGpus& gpus) const {
  const Region& place = region(region_name);
  const MachineShape machine = shape(machine_type);
  double factor = 1.0;
  const Pair* prices = nullptr;
  if (is_custom_type(machine_type)) {
    const std::string series = parse_custom_type(machine_type).series;
    const auto known = custom_factors_.find(series);
    if (known != custom_factors_.end() && place.series.contains(series)) {
      factor = known->second;
      prices = &place.series.at(series);
    }
  } else {
    for (const auto& [series, pair] : place.series)
      if (is_of_series(machine_type, series)) prices = &pair;
  }
  if (prices == nullptr)
    refuse(
        fmt::format("the prices of {} have none for {} in {}", as_of_, machine_type, region_name),
        "", {}, "choose another type or zone");
  const UnitPrices& unit = prices->of(provisioning);
  double dollars = factor * (machine.vcpus * unit.vcpu + machine.memory_gib * unit.gib +
                             machine.gpus * unit.gpu);
  if (gpus.count > 0) {
    const auto found = place.gpus.find(gpus.type);
    if (found == place.gpus.end())
      refuse(
          fmt::format("the prices of {} have no GPU \"{}\" in {}", as_of_, gpus.type, region_name),
          gpus.type, names_of(place.gpus), "choose a series that comes with GPUs, such as g2");
    dollars += gpus.count * found->second.of(provisioning).gpu;
  }
  return dollars;
}

std::vector<std::string> PriceCatalog::regions() const {
  return names_of(regions_);
}

std::vector<std::string> PriceCatalog::machine_types() const {
  return names_of(shapes_);
}

std::string region_of_zone(const std::string& zone) {
  return zone.substr(0, zone.rfind('-'));
}

double vm_cost(double dollars_per_hour, double seconds) {
  return dollars_per_hour / 3600.0 * std::max(kMinimumSeconds, std::ceil(seconds));
}

}  // namespace scavenger::gcp
