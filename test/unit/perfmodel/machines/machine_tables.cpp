#include "test/unit/perfmodel/machines/machine_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "test/unit/perfmodel/time/measured_tables.h"

namespace scavenger::perfmodel {
namespace {

using Repeats = std::map<std::string, std::map<double, std::vector<double>>>;

BatchCurves medians(const Repeats& repeats) {
  BatchCurves curves;
  for (const auto& [job, batches] : repeats)
    for (const auto& [batch, seconds] : batches) curves[job][batch] = median(seconds);
  return curves;
}

}  // namespace

std::vector<TableRow> machine_table(const std::string& file) {
  const std::filesystem::path folder = shared_data_or_skip("srifty");
  if (folder.empty()) return {};
  const auto columns = read_csv(folder / file);
  std::vector<TableRow> rows(columns.empty() ? 0 : columns.begin()->second.size());
  for (const auto& [header, cells] : columns)
    for (std::size_t i = 0; i < cells.size(); ++i) rows[i][header] = cells[i];
  return rows;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

void HeldOutErrors::add(double predicted, double spread, double truth) {
  constexpr double kNormal90 = 1.645;
  errors_.push_back(std::abs(std::exp(predicted - truth) - 1.0));
  if (std::abs(predicted - truth) <= kNormal90 * spread) ++covered_;
}

double HeldOutErrors::mean() const {
  double total = 0.0;
  for (const double error : errors_) total += error;
  return total / static_cast<double>(errors_.size());
}

double HeldOutErrors::quantile(double share) const {
  std::vector<double> sorted = errors_;
  std::ranges::sort(sorted);
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

double HeldOutErrors::coverage() const {
  return static_cast<double>(covered_) / static_cast<double>(errors_.size());
}

std::string HeldOutErrors::text() const {
  return fmt::format(
      "mean {:.1f} %, median {:.1f} %, p90 {:.1f} %, 90 % interval covers {:.0f} %, "
      "{} set-ups",
      100.0 * mean(), 100.0 * quantile(0.5), 100.0 * quantile(0.9), 100.0 * coverage(),
      errors_.size());
}

BatchCurves profet_curves() {
  Repeats repeats;
  for (const TableRow& row : machine_table("profet_target.csv"))
    repeats[row.at("model") + " " + row.at("dataset") + " " + row.at("instance_name")]
           [std::stod(row.at("batchsize"))]
               .push_back(std::stod(row.at("batch_latency")));
  return medians(repeats);
}

BatchCurves sia_one_gpu_curves() {
  Repeats repeats;
  for (const TableRow& row : machine_table("sia_placements.csv"))
    if (row.at("placement") == "1")
      repeats[row.at("model") + " " + row.at("cluster")][std::stod(row.at("local_bsz"))].push_back(
          std::stod(row.at("step_time_s")));
  return medians(repeats);
}

std::vector<double> three_of(const std::map<double, double>& curve) {
  const double least = curve.begin()->first, most = curve.rbegin()->first;
  const double wanted = 0.5 * std::log(least * most);
  double middle = std::next(curve.begin())->first;
  for (const auto& [batch, seconds] : curve)
    if (batch > least && batch < most &&
        std::abs(std::log(batch) - wanted) < std::abs(std::log(middle) - wanted))
      middle = batch;
  return {least, middle, most};
}

}  // namespace scavenger::perfmodel
