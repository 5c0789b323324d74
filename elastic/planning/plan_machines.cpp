#include "elastic/planning/plan_machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

constexpr const char* kOption = "--machines";

[[noreturn]] void refuse_machines(std::string what, std::string remedy) {
  throw InputError({.what = std::move(what), .where = kOption, .remedy = std::move(remedy)});
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (auto at = text.find(separator); at != std::string::npos; at = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

double parse_at_least(double least, const std::string& text) {
  const auto value = finite_number(text);
  if (!value || *value < least)
    refuse_machines(fmt::format("\"{}\" is not a number that fits there", text),
                    "write TYPE:COUNT[:SPEED[:PRICE]], such as small:2:0.5:0.04,large:4");
  return *value;
}

// The median over the configurations at which both machine types were measured.
double observed_speed(const std::string& type, const perfmodel::ModelRecord& record,
                      const perfmodel::Observations& reference) {
  if (type == reference.machine) return 1.0;
  std::vector<double> speeds;
  for (const perfmodel::TimeRow& row : record.times) {
    if (row.machine != type) continue;
    for (const perfmodel::TimeObservation& known : reference.times)
      if (known.configuration == perfmodel::Configuration{row.workers, row.batch_size})
        speeds.push_back(known.seconds / row.seconds);
  }
  if (speeds.empty())
    refuse_machines(
        fmt::format("the speed of machines of type \"{}\" is not known", type),
        fmt::format("give it, as {0}:COUNT:SPEED (1: as fast as \"{1}\"), or measure {0} at a "
                    "configuration at which {1} was measured",
                    type, reference.machine));
  std::ranges::sort(speeds);
  const std::size_t middle = speeds.size() / 2;
  return speeds.size() % 2 == 1 ? speeds[middle] : 0.5 * (speeds[middle - 1] + speeds[middle]);
}

}  // namespace

std::vector<NamedMachines> parse_machines(const std::string& text) {
  constexpr double kSlowest = 1e-6;
  std::vector<NamedMachines> machines;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> words = split(part, ':');
    if (words.size() < 2 || words.size() > 4 || words[0].empty())
      refuse_machines(fmt::format("\"{}\" names no machines", part),
                      "write TYPE:COUNT[:SPEED[:PRICE]], such as small:2:0.5:0.04,large:4");
    NamedMachines named;
    named.type = words[0];
    named.count = std::floor(parse_at_least(1.0, words[1]));
    if (words.size() > 2) named.speed = parse_at_least(kSlowest, words[2]);
    if (words.size() > 3) named.price_per_hour = parse_at_least(0.0, words[3]);
    machines.push_back(std::move(named));
  }
  return machines;
}

perfmodel::MachinePool pool_of(const std::vector<NamedMachines>& machines,
                               const perfmodel::ModelRecord& record,
                               const perfmodel::Observations& reference, double default_price,
                               perfmodel::Sharing sharing) {
  perfmodel::MachinePool pool;
  pool.sharing = sharing;
  for (const NamedMachines& named : machines) {
    perfmodel::MachineGroup group;
    group.type = named.type;
    group.workers = named.count;
    group.speed = named.speed ? *named.speed : observed_speed(named.type, record, reference);
    group.price_per_hour = named.price_per_hour.value_or(default_price);
    pool.groups.push_back(std::move(group));
  }
  return pool;
}

}  // namespace scavenger::elastic
