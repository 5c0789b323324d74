#include "test/unit/campaign/surrogate/published_profiles.h"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "campaign/surrogate/perceptron.h"

namespace scavenger::surrogate {

namespace {

std::filesystem::path shared_data() {
  const char* const folder = std::getenv("SCAVENGER_SHARED_DATA");
  return std::filesystem::path(folder != nullptr ? folder : SCAVENGER_SHARED_DATA_DEFAULT) / "md";
}

}  // namespace

std::vector<Sample> published_profiles() {
  const auto path = shared_data() / "density_profiles_162.csv.gz";
  gzFile_s* const file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    WARN("skipped: there is no " << path << "; set SCAVENGER_SHARED_DATA");
    return {};
  }
  // sim,Z_nm,c_M,sigma_C_per_m2,d_pos_nm,d_neg_nm,bin,z_nm,pos_density_M,pos_err_M,neg_density_M,neg_err_M
  struct Halves {
    Sample sample;
    std::vector<double> negative, negative_errors;
  };
  std::vector<Halves> profiles;
  char line[512];
  while (gzgets(file, line, sizeof line) != nullptr) {
    if (line[0] < '0' || line[0] > '9') continue;
    std::vector<double> fields;
    char* place = line;
    for (int i = 0; i < 12; ++i) {
      fields.push_back(std::strtod(place, &place));
      if (*place == ',') ++place;
    }
    if (static_cast<std::size_t>(fields[0]) == profiles.size())
      profiles.push_back(
          {{.parameters = {fields[1], fields[2], fields[3]},  // the diameters are constant
            .profile = {},
            .errors = {}},
           {},
           {}});
    Halves& halves = profiles.back();
    halves.sample.profile.push_back(fields[8]);
    halves.sample.errors.push_back(fields[9]);
    halves.negative.push_back(fields[10]);
    halves.negative_errors.push_back(fields[11]);
  }
  gzclose(file);
  std::vector<Sample> samples;
  for (Halves& halves : profiles) {
    Sample sample = std::move(halves.sample);
    sample.profile.insert(sample.profile.end(), halves.negative.begin(), halves.negative.end());
    sample.errors.insert(sample.errors.end(), halves.negative_errors.begin(),
                         halves.negative_errors.end());
    samples.push_back(std::move(sample));
  }
  return samples;
}

namespace {

// A line that begins with #, the bias, then a row for each input.
DenseWeights read_layer(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::vector<float>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    rows.emplace_back();
    std::istringstream text(line);
    for (std::string field; std::getline(text, field, ',');)
      rows.back().push_back(std::stof(field));
  }
  if (rows.size() < 2) return {};
  DenseWeights layer{rows.size() - 1, rows[0].size(), {}, rows[0]};
  for (std::size_t o = 0; o < layer.outputs; ++o)
    for (std::size_t i = 0; i < layer.inputs; ++i) layer.weight.push_back(rows[i + 1][o]);
  return layer;
}

}  // namespace

std::vector<Sample> published_network_samples() {
  const std::filesystem::path folder = shared_data() / "surrogate5";
  std::vector<DenseWeights> layers;
  for (const char* const name : {"layer1.csv", "layer2.csv", "layer3.csv"}) {
    layers.push_back(read_layer(folder / name));
    if (layers.back().outputs == 0) {
      WARN("skipped: there is no " << folder << "; set SCAVENGER_SHARED_DATA");
      return {};
    }
  }
  const Perceptron network(std::move(layers), Activation::kRelu);
  std::vector<Sample> samples;
  for (int slit = 0; slit <= 10; ++slit)
    for (int valency = 0; valency <= 2; ++valency)
      for (int salt = 0; salt <= 12; ++salt)
        for (int diameter = 0; diameter <= 7; ++diameter) {
          const double u[4] = {slit / 10.0, valency / 2.0, salt / 12.0, diameter / 7.0};
          const std::vector<double> input{u[0], u[1], 0.0, u[2], u[3]};
          samples.push_back(
              {.parameters = {3.0 + u[0], 1.0 + 2.0 * u[1], 0.3 + 0.6 * u[2], 0.5 + 0.25 * u[3]},
               .profile = network(input),
               .errors = {}});
        }
  return samples;
}

}  // namespace scavenger::surrogate
