// Members that the elastic trainer trains: the real programs, from arrays to predictions.
#include "campaign/surrogate/member_job.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "campaign/surrogate/surrogate.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/random.h"
#include "test/support/temporary_folder.h"
#include "test/unit/campaign/surrogate/invented_space.h"

namespace scavenger::surrogate {
namespace {

// The folder of the programs.
std::string programs() {
  const char* const set = std::getenv("SCAVENGER_PROGRAMS");
  return set != nullptr ? set : SCAVENGER_PROGRAMS_DEFAULT;
}

void run(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

void run_member_job(const MemberJob& job) {
  run(fmt::format("'{}/scavenger-train' '{}' --run '{}' > '{}.log' 2>&1", programs(),
                  job.config.string(), job.run.string(), job.run.string()));
  run(fmt::format("'{}/scavenger-export' '{}' '{}' --checkpoint last > /dev/null", programs(),
                  job.run.string(), job.weights.string()));
}

FitSettings small_settings() {
  FitSettings settings;
  settings.hidden = {16, 16};
  settings.members = 2;
  settings.iterations = 600;
  return settings;
}

std::vector<Sample> samples_of(const std::vector<std::vector<double>>& points, std::size_t begin,
                               std::size_t end) {
  RandomStream random(3, "split");
  const auto order = permutation(random, static_cast<std::uint32_t>(points.size()));
  std::vector<Sample> samples;
  for (std::size_t i = begin; i < end; ++i) samples.push_back(invented_sample(points[order[i]]));
  return samples;
}

}  // namespace

TEST_CASE("scavenger-train trains the members, and their predictions are right") {
  const TemporaryFolder folder;
  const auto points = invented_points(7);
  const std::vector<Sample> trained = samples_of(points, 0, 36), held = samples_of(points, 36, 49);
  const FitSettings settings = small_settings();
  const UnitSpace space(points);
  Surrogate surrogate =
      fit_surrogate(space, trained, settings, elastic_trainer(folder.path(), run_member_job));
  surrogate.calibrate(held);

  const HoldoutError error = surrogate.error_on(held);
  INFO("rmse " << error.rmse << ", covered " << error.covered);
  CHECK(error.rmse < 0.08);  // the profiles vary by 0.5
  CHECK(error.covered > 0.9);
  CHECK(surrogate.variance(points[0]) > 0.0);  // members differ

  // Our forward pass gives what scavenger-predict gives.
  const auto member = folder.path() / "member-0";
  run(fmt::format(
      "'{}/scavenger-predict' '{}' --checkpoint last --input '{}' --output '{}' > /dev/null",
      programs(), (member / "run").string(), (member / "x.npy").string(),
      (member / "y.csv").string()));
  const TrainingSet set = encode(space, trained, settings).set;
  const Perceptron network = read_member(
      {member / "job.json", member / "run", member / "weights.safetensors"}, set, settings);
  std::ifstream answers(member / "y.csv");
  std::string line;
  std::getline(answers, line);  // the names of the columns
  std::size_t row = 0;
  for (; std::getline(answers, line); ++row) {
    const std::vector<double> x(
        set.x.begin() + static_cast<std::ptrdiff_t>(row * set.inputs),
        set.x.begin() + static_cast<std::ptrdiff_t>((row + 1) * set.inputs));
    const std::vector<double> own = network(x);
    std::istringstream fields(line);
    std::string field;
    std::getline(fields, field, ',');  // the sample's number
    for (const double value : own) {
      REQUIRE(std::getline(fields, field, ','));
      REQUIRE(std::stod(field) == Approx(value).margin(1e-5));
    }
  }
  CHECK(row == set.rows());
}

TEST_CASE("a training that fails, and weights of another network, are told") {
  const TemporaryFolder folder;
  const auto points = invented_points(4);
  const std::vector<Sample> samples = samples_of(points, 0, 12);
  const FitSettings settings = small_settings();
  const UnitSpace space(points);
  const auto fails = elastic_trainer(
      folder.path(), [](const MemberJob&) { throw std::runtime_error("the machine was lost"); });
  CHECK_THROWS_WITH(fit_surrogate(space, samples, settings, fails), "the machine was lost");
  const auto leaves_nothing = elastic_trainer(folder.path(), [](const MemberJob&) {});
  CHECK_THROWS_AS(fit_surrogate(space, samples, settings, leaves_nothing), Error);
}

TEST_CASE("the arrays are what NumPy reads") {
  const TemporaryFolder folder;
  const TrainingSet set{
      .inputs = 2, .outputs = 1, .x = {1.0F, -0.5F, 0.25F, 0.0F}, .y = {3.0F, 4.0F}};
  write_member_job(folder.path() / "member", set, small_settings(), 0);
  const std::string x = read_file(folder.path() / "member" / "x.npy");
  CHECK(x.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  CHECK((x.size() - 4 * sizeof(float)) % 64 == 0);
  CHECK(x.find("'shape': (2, 2)") != std::string::npos);
}

}  // namespace scavenger::surrogate
