#include "elastic/vms/spot_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "elastic/vms/table_file.h"

namespace scavenger::elastic {
namespace {

constexpr const char* kRemedy = "docs/machines.md has the columns of tables of spot machines";
constexpr double kQuantile = 0.9;
constexpr double kYearDays = 365.0;

double days_of(const TableFile& table, const std::string& date) {
  int year = 0;
  unsigned month = 0, day = 0;
  const char* const end = date.data() + date.size();
  const auto first = std::from_chars(date.data(), end, year);
  const auto second = std::from_chars(std::min(first.ptr + 1, end), end, month);
  const auto third = std::from_chars(std::min(second.ptr + 1, end), end, day);
  const std::chrono::year_month_day found{std::chrono::year(year), std::chrono::month(month),
                                          std::chrono::day(day)};
  if (date.size() != 10 || third.ptr != end || third.ec != std::errc() || !found.ok())
    table.refuse(fmt::format("\"{}\" is no date such as 2026-07-30", date));
  return static_cast<double>(std::chrono::sys_days(found).time_since_epoch().count());
}

using PriceHistory = std::map<double, double>;  // dollars per hour, by the day from which on

double dear_price(const PriceHistory& history, double since) {
  std::vector<std::pair<double, double>> held;  // dollars, days
  double days = 0.0;
  for (auto price = history.begin(); std::next(price) != history.end(); ++price) {
    const double end = std::next(price)->first, begin = std::max(price->first, since);
    if (end <= begin) continue;
    held.emplace_back(price->second, end - begin);
    days += end - begin;
  }
  const double last = held.empty() ? 1.0 : days / static_cast<double>(held.size());
  held.emplace_back(history.rbegin()->second, last);
  days += last;
  std::ranges::sort(held);
  double below = 0.0;
  for (const auto& [dollars, long_days] : held) {
    below += long_days;
    if (below >= kQuantile * days) return dollars;
  }
  return held.back().first;
}

}  // namespace

void add_spot_lives(const std::filesystem::path& file, const std::string& zone,
                    const std::vector<VmType>& types, KnownModel& known) {
  TableFile table(file, kRemedy);
  for (const char* const column : {"machine_type", "lifetime_seconds", "ended_by"})
    table.require_column(column);
  if (!zone.empty()) table.require_column("zone");
  std::set<std::string> seen;
  while (table.next()) {
    if (!zone.empty() && table.text("zone") != zone) continue;
    const std::string type = table.required_text("machine_type");
    std::string end = table.present_text("ended_by");
    std::ranges::transform(end, end.begin(), [](char c) {
      return c < 'A' || c > 'Z' ? c : static_cast<char>(c - 'A' + 'a');
    });
    known.spot[type].add({table.required_number("lifetime_seconds"), end == "preempted"});
    seen.insert(type);
  }
  if (seen.empty())
    table.refuse_table(zone.empty() ? "there is no machine in it"
                                    : fmt::format("there is no machine of zone {} in it", zone));
  if (std::ranges::none_of(types,
                           [&](const VmType& type) { return seen.contains(type.features.name); }))
    table.refuse_table("it has no machine of any type to choose from");
}

std::size_t price_spot_types(std::vector<VmType>& types, const std::filesystem::path& file) {
  TableFile table(file, kRemedy);
  for (const char* const column : {"machine_type", "first_seen_date", "usd_hour_spot"})
    table.require_column(column);
  std::map<std::string, PriceHistory> histories;
  double last = 0.0;
  while (table.next()) {
    const double day = days_of(table, table.text("first_seen_date"));
    last = std::max(last, day);
    histories[table.required_text("machine_type")][day] = table.required_number("usd_hour_spot");
  }
  if (histories.empty()) table.refuse_table("there is no price in it");
  std::size_t priced = 0;
  for (VmType& type : types) {
    const auto found = histories.find(type.features.name);
    if (found == histories.end()) continue;
    type.spot_price = dear_price(found->second, last - kYearDays);
    ++priced;
  }
  return priced;
}

}  // namespace scavenger::elastic
