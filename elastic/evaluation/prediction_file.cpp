#include "elastic/evaluation/prediction_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "runtime/base/file.h"

namespace scavenger::elastic {
namespace {

void softmax(std::span<float> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  for (float& logit : logits) logit = static_cast<float>(std::exp(logit - largest) / sum);
}

float logistic(float logit) {
  return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(logit))));
}

bool has_classes(const DataShape& shape) {
  return shape.target == TargetKind::kLabel;
}

}  // namespace

std::uint64_t answers_per_sample(const DataShape& shape) {
  if (has_classes(shape)) return shape.classes;
  std::uint64_t count = 1;
  for (const std::int64_t size : shape.target_shape) count *= static_cast<std::uint64_t>(size);
  return count;
}

void make_probabilities(LossType loss, const DataShape& shape, std::span<float> answers) {
  if (has_classes(shape)) {
    const std::uint64_t row = answers_per_sample(shape);
    for (std::size_t i = 0; i < answers.size(); i += row) softmax(answers.subspan(i, row));
  } else if (loss == LossType::kBce) {
    std::ranges::transform(answers, answers.begin(), logistic);
  }
}

void write_csv_header(const DataShape& shape, std::ostream& out) {
  const std::uint64_t row = answers_per_sample(shape);
  std::string line = has_classes(shape) ? "sample,class,probability" : "sample";
  const char* const name = has_classes(shape) ? "p" : "value";
  for (std::uint64_t i = 0; i < row; ++i)
    line += row == 1 ? fmt::format(",{}", name) : fmt::format(",{}{}", name, i);
  out << line << "\n";
}

void write_csv_rows(const DataShape& shape, std::uint64_t first_sample,
                    std::span<const float> answers, std::ostream& out) {
  const std::uint64_t row = answers_per_sample(shape);
  for (std::size_t i = 0; i < answers.size(); i += row) {
    const auto numbers = answers.subspan(i, row);
    std::string line = fmt::format("{}", first_sample + i / row);
    if (has_classes(shape)) {
      const auto best = std::ranges::max_element(numbers);
      fmt::format_to(std::back_inserter(line), ",{},{}", best - numbers.begin(), *best);
    }
    for (const float number : numbers) fmt::format_to(std::back_inserter(line), ",{}", number);
    out << line << "\n";
  }
}

// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, version 1.0.
void write_npy(const DataShape& shape, std::span<const float> answers,
               const std::filesystem::path& file) {
  std::string sizes = fmt::format("{},", answers.size() / answers_per_sample(shape));
  if (has_classes(shape))
    sizes += fmt::format(" {},", shape.classes);
  else
    for (const std::int64_t size : shape.target_shape) sizes += fmt::format(" {},", size);
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", sizes);
  constexpr std::size_t kPrefixBytes = 10, kAlignment = 64;
  header.resize((header.size() + kPrefixBytes + 1 + kAlignment - 1) / kAlignment * kAlignment -
                    kPrefixBytes - 1,
                ' ');
  header += '\n';
  std::string content("\x93NUMPY\x01\x00", 8);
  content += static_cast<char>(header.size() & 0xFF);
  content += static_cast<char>(header.size() >> 8);
  content += header;
  content.append(reinterpret_cast<const char*>(answers.data()), answers.size_bytes());
  write_output_file(file, content);
}

}  // namespace scavenger::elastic
