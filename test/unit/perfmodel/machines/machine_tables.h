// Measurements of others across machine types, in the developers' shared folder (srifty), and how
// errors on them are summed up. Tests that need a table skip if it is not there.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace scavenger::perfmodel {

// A CSV file of the folder, row by row; empty if the folder is missing (a warning is printed).
using TableRow = std::map<std::string, std::string>;
std::vector<TableRow> machine_table(const std::string& file);

double median(std::vector<double> values);

// Predictions of what was held out.
class HeldOutErrors final {
 public:
  // Of ln(value): predicted mean and standard deviation, and the truth.
  void add(double predicted, double spread, double truth);

  bool empty() const { return errors_.empty(); }
  std::size_t count() const { return errors_.size(); }
  double mean() const;
  double quantile(double share) const;
  double coverage() const;  // of the 90 % intervals
  std::string text() const;

 private:
  std::vector<double> errors_;  // |predicted / true - 1|
  std::size_t covered_ = 0;
};

// Seconds per iteration by local batch on one machine: one entry per job and machine type.
using BatchCurves = std::map<std::string, std::map<double, double>>;
BatchCurves profet_curves();
BatchCurves sia_one_gpu_curves();

// The least, the most, and the one nearest to their geometric mean.
std::vector<double> three_of(const std::map<double, double>& curve);

}  // namespace scavenger::perfmodel
