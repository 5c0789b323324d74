#include "campaign/surrogate/member_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <span>
#include <string>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/file.h"

namespace scavenger::surrogate {
namespace {

static_assert(std::endian::native == std::endian::little);  // '<f4' below

// NumPy's format, version 1.0: the header is padded so that the data begin at a multiple of 64.
std::string npy(std::span<const float> values, std::size_t rows, std::size_t columns) {
  constexpr std::size_t kPrefixBytes = 10, kAlignment = 64;
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  while ((kPrefixBytes + header.size() + 1) % kAlignment != 0) header += ' ';
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 255U);
  file += static_cast<char>(header.size() >> 8U);
  file += header;
  file.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return file;
}

// The test data are the training data: a campaign judges its surrogate on its holdout itself.
std::string configuration(const TrainingSet& set, const FitSettings& settings, std::size_t index) {
  // relu is the trainer's default.
  const std::string activation =
      settings.activation == Activation::kTanh ? R"(, "activation": "tanh")" : "";
  const std::string arrays = R"({ "format": "arrays", "features": "x.npy", "labels": "y.npy" })";
  return fmt::format(
      R"({{
  "name": "member-{0}",
  "seed": {1},
  "data": {{ "train": {2}, "test": {2} }},
  "model": {{ "type": "mlp", "hidden": [{3}]{7} }},
  "loss": {{ "type": "mse" }},
  "optimizer": {{ "type": "adam", "learning_rate": {4},
    "schedule": {{ "type": "cosine", "total_epochs": {5}, "final_fraction": 0.01 }} }},
  "batch_size": {6},
  "cluster": {{ "workers": 1, "threads_per_worker": 1 }},
  "stop": {{ "max_iterations": {5} }},
  "evaluation": {{ "every_iterations": {5} }},
  "checkpoint": {{ "every_iterations": {5}, "keep_last": 1, "keep_best": false }}
}}
)",
      index, settings.seed + 1000003 * index, arrays, fmt::join(settings.hidden, ", "),
      settings.learning_rate, settings.iterations, set.rows(), activation);
}

}  // namespace

MemberJob write_member_job(const std::filesystem::path& folder, const TrainingSet& set,
                           const FitSettings& settings, std::size_t index) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw SystemError(error.value(), {.what = "cannot make the folder of a member's training",
                                      .where = folder.string(),
                                      .remedy = "make room, or use another run folder"});
  write_file_atomically(folder / "x.npy", npy(set.x, set.rows(), set.inputs));
  write_file_atomically(folder / "y.npy", npy(set.y, set.rows(), set.outputs));
  write_file_atomically(folder / "job.json", configuration(set, settings, index));
  return {folder / "job.json", folder / "run", folder / "weights.safetensors"};
}

Perceptron read_member(const MemberJob& job, const TrainingSet& set, const FitSettings& settings) {
  Perceptron member = read_perceptron(job.weights, settings.activation);
  if (member.inputs() != set.inputs || member.outputs() != set.outputs)
    throw CheckpointError(
        {.what = fmt::format("this network maps {} numbers to {}, instead of {} to {}",
                             member.inputs(), member.outputs(), set.inputs, set.outputs),
         .where = job.weights.string(),
         .remedy = "train it on the arrays beside it"});
  return member;
}

TrainMember elastic_trainer(std::filesystem::path folder, RunMemberJob run) {
  return [folder = std::move(folder), run = std::move(run)](
             const TrainingSet& set, const FitSettings& settings, std::size_t index) {
    const std::filesystem::path place = folder / fmt::format("member-{}", index);
    std::error_code error;
    std::filesystem::remove_all(place, error);
    const MemberJob job = write_member_job(place, set, settings, index);
    run(job);
    return read_member(job, set, settings);
  };
}

}  // namespace scavenger::surrogate
