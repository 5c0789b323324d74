#include "elastic/evaluation/prediction_file.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"

namespace scavenger::elastic {
namespace {

DataShape shape_of_classes(std::uint32_t classes) {
  DataShape shape;
  shape.target = TargetKind::kLabel;
  shape.classes = classes;
  return shape;
}

DataShape shape_of_values(std::vector<std::int64_t> target_shape) {
  DataShape shape;
  shape.target = TargetKind::kValues;
  shape.target_shape = std::move(target_shape);
  return shape;
}

std::string csv(const DataShape& shape, std::uint64_t first, std::span<const float> answers) {
  std::ostringstream out;
  write_csv_header(shape, out);
  write_csv_rows(shape, first, answers, out);
  return out.str();
}

}  // namespace

TEST_CASE("Logits of classes become probabilities of each sample, without overflow") {
  std::vector<float> answers = {0.0F, std::log(3.0F), 1000.0F, 1000.0F};
  make_probabilities(LossType::kCrossEntropy, shape_of_classes(2), answers);
  CHECK(answers[0] == Approx(0.25));
  CHECK(answers[1] == Approx(0.75));
  CHECK(answers[2] == Approx(0.5));
}

TEST_CASE("Values stay as they are, but for the logistic function of the loss bce") {
  std::vector<float> answers = {0.0F, 2.0F};
  make_probabilities(LossType::kMse, shape_of_values({2}), answers);
  CHECK(answers == std::vector<float>{0.0F, 2.0F});
  make_probabilities(LossType::kBce, shape_of_values({2}), answers);
  CHECK(answers[0] == Approx(0.5));
  CHECK(answers[1] == Approx(1.0 / (1.0 + std::exp(-2.0))));
}

TEST_CASE("A CSV file has the class and all probabilities, or the values") {
  const std::vector<float> answers = {0.25F, 0.75F, 0.5F, 0.5F};
  CHECK(csv(shape_of_classes(2), 7, answers) ==
        "sample,class,probability,p0,p1\n7,1,0.75,0.25,0.75\n8,0,0.5,0.5,0.5\n");
  CHECK(csv(shape_of_values({1}), 0, std::vector<float>{1.5F, -2.0F}) ==
        "sample,value\n0,1.5\n1,-2\n");
  CHECK(csv(shape_of_values({2}), 0, std::vector<float>{1.5F, -2.0F}) ==
        "sample,value0,value1\n0,1.5,-2\n");
}

TEST_CASE("An array for NumPy has an aligned header with its shape, and then the numbers") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "answers.npy";
  const std::vector<float> answers = {1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F};
  write_npy(shape_of_classes(3), answers, file);
  const std::string content = read_file(file);
  CHECK_THAT(content, Catch::StartsWith("\x93NUMPY") && Catch::Contains("'shape': (2, 3,)"));
  const std::size_t header = content.find('\n') + 1;
  CHECK(header % 64 == 0);
  CHECK(content.size() == header + answers.size() * sizeof(float));
  write_npy(shape_of_values({3, 1}), answers, file);
  CHECK_THAT(read_file(file), Catch::Contains("'shape': (2, 3, 1,)"));
}

}  // namespace scavenger::elastic
