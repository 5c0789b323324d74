// What a model answers for samples, as a file or text for people and Python.
#pragma once

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <span>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/training/data_shape.h"

namespace scavenger::elastic {

// From a model's answers (logits, or values; row-major) to what they mean, in place: probabilities
// by softmax for classes, by the logistic function for the loss bce; values stay as they are.
void make_probabilities(LossType loss, const DataShape& shape, std::span<float> answers);

// A line for each sample: "sample,class,probability,p0,p1,..." for classes; "sample,value" or
// "sample,value0,value1,..." else. The samples are counted from `first_sample` on.
void write_csv_header(const DataShape& shape, std::ostream& out);
void write_csv_rows(const DataShape& shape, std::uint64_t first_sample,
                    std::span<const float> answers, std::ostream& out);

// A float32 array for numpy.load(): {samples, classes} or {samples, target shape...}.
void write_npy(const DataShape& shape, std::span<const float> answers,
               const std::filesystem::path& file);

// Numbers that a model answers for one sample.
std::uint64_t answers_per_sample(const DataShape& shape);

}  // namespace scavenger::elastic
