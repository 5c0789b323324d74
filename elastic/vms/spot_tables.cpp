#include "elastic/vms/spot_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <sstream>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/schema/input_file.h"

namespace scavenger::elastic {
namespace {

constexpr const char* kRemedy = "docs/machines.md has the columns of tables of spot machines";
constexpr double kQuantile = 0.9;
constexpr double kYearDays = 365.0;

// Rows of named columns, each with its line.
class SpotTable final {
 public:
  SpotTable(const std::filesystem::path& file, const std::vector<std::string>& columns)
      : file_(file), lines_(std::string(without_byte_order_mark(read_input_file(file, kRemedy)))) {
    std::string line;
    std::getline(lines_, line);
    const std::vector<std::string> header = cells_of_line(line);
    for (const std::string& column : columns) {
      const auto found = std::ranges::find(header, column);
      if (found == header.end()) refuse(fmt::format("there is no column {}", column));
      places_.push_back(static_cast<std::size_t>(found - header.begin()));
    }
  }

  // The next row's cells, in the order of the columns that were asked for; false at the end.
  bool next(std::vector<std::string>& cells) {
    for (std::string line; std::getline(lines_, line);) {
      ++number_;
      const std::vector<std::string> all = cells_of_line(line);
      if (all.empty()) continue;
      cells.clear();
      for (const std::size_t place : places_) {
        if (place >= all.size()) refuse("there are fewer cells than columns");
        cells.push_back(all[place]);
      }
      return true;
    }
    return false;
  }

  double positive(const std::string& column, const std::string& cell) const {
    const auto value = positive_number(cell);
    if (!value) refuse(fmt::format("{} \"{}\" is not a positive number", column, cell));
    return *value;
  }

  [[noreturn]] void refuse(std::string what) const {
    throw InputError({.what = std::move(what),
                      .where = fmt::format("{}:{}", file_.string(), number_),
                      .remedy = kRemedy});
  }

 private:
  static std::vector<std::string> cells_of_line(std::string line) {
    if (line.ends_with('\r')) line.pop_back();
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    return cells;
  }

  std::filesystem::path file_;
  std::istringstream lines_;
  std::size_t number_ = 1;
  std::vector<std::size_t> places_;
};

double days_of(const SpotTable& table, const std::string& date) {
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

void add_spot_lives(const std::filesystem::path& file, const std::string& zone, KnownModel& known) {
  std::vector<std::string> columns = {"machine_type", "lifetime_seconds", "ended_by"};
  if (!zone.empty()) columns.emplace_back("zone");
  SpotTable table(file, columns);
  std::size_t machines = 0;
  for (std::vector<std::string> cells; table.next(cells);) {
    if (!zone.empty() && cells[3] != zone) continue;
    known.spot[cells[0]].add({table.positive(columns[1], cells[1]), cells[2] == "preempted"});
    ++machines;
  }
  if (machines == 0)
    table.refuse(zone.empty() ? "there is no machine in it"
                              : fmt::format("there is no machine of zone {} in it", zone));
}

std::size_t price_spot_types(std::vector<VmType>& types, const std::filesystem::path& file) {
  SpotTable table(file, {"machine_type", "first_seen_date", "usd_hour_spot"});
  std::map<std::string, PriceHistory> histories;
  double last = 0.0;
  for (std::vector<std::string> cells; table.next(cells);) {
    const double day = days_of(table, cells[1]);
    last = std::max(last, day);
    histories[cells[0]][day] = table.positive("usd_hour_spot", cells[2]);
  }
  if (histories.empty()) table.refuse("there is no price in it");
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
