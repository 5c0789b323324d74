#include "test/unit/perfmodel/time/measured_tables.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

namespace scavenger::perfmodel {
namespace {

double number(const std::string& text) {
  return text.empty() ? 0.0 : std::stod(text);
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream stream(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
  std::string cell;
  while (std::getline(stream, cell, ',')) cells.push_back(cell);
  return cells;
}

}  // namespace

std::filesystem::path shared_data_or_skip(const std::string& folder) {
  const char* set = std::getenv("SCAVENGER_SHARED_DATA");
  const std::filesystem::path root = set != nullptr ? set : SCAVENGER_SHARED_DATA_DEFAULT;
  if (std::filesystem::is_directory(root / folder)) return root / folder;
  WARN("skipped: there is no folder " << (root / folder));
  return {};
}

std::map<std::string, std::vector<std::string>> read_csv(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = split(line);
  std::map<std::string, std::vector<std::string>> columns;
  while (std::getline(file, line)) {
    std::vector<std::string> cells = split(line);
    cells.resize(header.size());
    for (std::size_t i = 0; i < header.size(); ++i) columns[header[i]].push_back(cells[i]);
  }
  return columns;
}

std::vector<FigurePoint> read_figure_points(const std::filesystem::path& folder,
                                            const std::string& model) {
  auto table = read_csv(folder / "figure_points.csv");
  std::vector<FigurePoint> points;
  for (std::size_t i = 0; i < table["model"].size(); ++i) {
    if (table["model"][i] != model) continue;
    points.push_back({number(table["K"][i]), number(table["B"][i]),
                      number(table["time_h_actual"][i]), number(table["cost_usd_actual"][i]),
                      number(table["cost_usd_predicted_plotted"][i]),
                      number(table["noise_normalised"][i]), number(table["epochs_to_target"][i]),
                      number(table["tau_strong_derived_s"][i])});
  }
  return points;
}

std::vector<AdaptDlObservation> read_pollux_times(const std::filesystem::path& folder) {
  std::map<std::pair<double, double>, std::vector<AdaptDlObservation>> rows;
  const auto keep = [&](double workers, const std::string& batch, const std::string& seconds,
                        const std::string& sync) {
    const double b = number(batch);
    rows[{workers, b}].push_back(
        {workers, workers, b, number(seconds), number(seconds) - number(sync)});
  };
  auto placements = read_csv(folder / "placements.csv");
  for (std::size_t i = 0; i < placements["placement"].size(); ++i) {
    const std::string& nodes = placements["placement"][i];
    if (nodes.find_first_not_of('1') != std::string::npos) continue;
    keep(static_cast<double>(nodes.size()), placements["local_bsz"][i], placements["step_time"][i],
         placements["sync_time"][i]);
  }
  auto more = read_csv(folder / "scalability.csv");
  for (std::size_t i = 0; i < more["num_nodes"].size(); ++i)
    if (more["num_nodes"][i] == more["num_replicas"][i])
      keep(number(more["num_nodes"][i]), more["local_bsz"][i], more["step_time"][i],
           more["sync_time"][i]);
  std::vector<AdaptDlObservation> observations;
  for (const auto& [key, repeats] : rows) {
    AdaptDlObservation mean = repeats.front();
    mean.seconds = mean.compute_seconds = 0.0;
    for (const AdaptDlObservation& o : repeats) {
      mean.seconds += o.seconds / static_cast<double>(repeats.size());
      mean.compute_seconds += o.compute_seconds / static_cast<double>(repeats.size());
    }
    observations.push_back(mean);
  }
  return observations;
}

TimeObservation to_time_observation(const AdaptDlObservation& o) {
  return {.configuration = {o.workers, o.workers * o.local_batch}, .seconds = o.seconds};
}

}  // namespace scavenger::perfmodel
