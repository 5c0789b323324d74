#include "apps/worker_library/host_trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"

namespace scavenger {
namespace {

thread_local Problem host_problem;
thread_local std::string host_traceback;

void require_ok(int status) {
  if (status == SCAVENGER_OK) return;
  Problem problem = std::exchange(host_problem, {});
  if (problem.what.empty()) problem.what = "the host program failed, and did not say why";
  if (status == SCAVENGER_BAD_INPUT) throw ConfigError(std::move(problem));
  throw JobError(std::move(problem));
}

const char* name_of(TargetKind kind) {
  switch (kind) {
    case TargetKind::kLabel:
      return "label";
    case TargetKind::kValues:
      return "values";
    case TargetKind::kNextTokens:
      return "next_tokens";
    case TargetKind::kSequence:
      return "sequence";
  }
  __builtin_unreachable();
}

std::string text_of(const HostJob& job) {
  const DataShape& data = job.data;
  return json_text(nlohmann::json{{"sample_shape", data.sample_shape},
                                  {"vocabulary", data.vocabulary},
                                  {"target", name_of(data.target)},
                                  {"classes", data.classes},
                                  {"target_shape", data.target_shape},
                                  {"train_samples", job.train_samples}});
}

[[noreturn]] void throw_bad_tensor(const std::string& name, const std::string& what) {
  throw ConfigError({.what = name + " " + what, .where = "model", .remedy = {}});
}

std::vector<std::int64_t> shape_of(const scavenger_tensor& tensor) {
  std::vector<std::int64_t> shape(tensor.shape, tensor.shape + tensor.dimensions);
  for (const std::int64_t side : shape)
    if (side <= 0) throw_bad_tensor(tensor.name, "is empty");
  return shape;
}

ElementType type_of(const scavenger_tensor& tensor) {
  for (auto type = ElementType::kBool; type <= ElementType::kF64;
       type = static_cast<ElementType>(static_cast<int>(type) + 1))
    if (element_type_name(type) == tensor.type) return type;
  throw_bad_tensor(tensor.name,
                   std::string("is of type ") + tensor.type + ", which safetensors does not have");
}

void require_new_name(const TensorLayout& layout, const std::string& name) {
  for (const TensorPlace& place : layout.tensors())
    if (place.name == name) throw_bad_tensor(name, "is there twice");
}

template <typename Values>
const typename Values::value_type* start_of(const Values& values) {
  return values.empty() ? nullptr : values.data();
}

scavenger_batch view_of(const Batch& batch, bool is_for_training,
                        const WorkerIteration& begun = {}) {
  return {.struct_bytes = sizeof(scavenger_batch),
          .first_position = batch.first_position,
          .size = batch.size,
          .sample_dimensions = static_cast<std::uint32_t>(batch.sample_shape.size()),
          .sample_shape = batch.sample_shape.data(),
          .features = start_of(batch.features),
          .tokens = start_of(batch.tokens),
          .target_shape = batch.target_shape.data(),
          .target_dimensions = static_cast<std::uint32_t>(batch.target_shape.size()),
          .is_for_training = is_for_training ? 1u : 0u,
          .labels = start_of(batch.labels),
          .values = start_of(batch.values),
          .loss_terms = batch.loss_terms,
          .iteration = begun.iteration,
          .rank = begun.rank,
          .workers = begun.workers,
          .global_batch_size = begun.batch_size,
          .is_probe = is_for_training && batch.size != begun.share ? 1u : 0u};
}

}  // namespace

void explain_host_error(std::string what, std::string where, std::string remedy) {
  host_problem = {.what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)};
}

void keep_host_traceback(std::string traceback) {
  host_traceback = std::move(traceback);
}

std::string take_host_traceback() {
  return std::exchange(host_traceback, {});
}

HostTrainer::HostTrainer(const scavenger_worker_host& host, const HostJob& job)
    : host_(host), threads_(job.threads) {
  const std::string data = text_of(job);
  const scavenger_job host_job{.struct_bytes = sizeof(scavenger_job),
                               .config = job.config.c_str(),
                               .data = data.c_str(),
                               .index = job.index,
                               .threads = job.threads};
  scavenger_model model{};
  model.struct_bytes = sizeof(scavenger_model);
  require_ok(host_.set_up(host_.context, &host_job, &model));
  adopt_parameters(model);
  adopt_buffers(model);
  if (model.batches_ahead > 0) batches_ahead_ = model.batches_ahead;
  if (model.place != nullptr) place_ = model.place;
}

void HostTrainer::adopt_parameters(const scavenger_model& model) {
  if (model.parameter_count == 0)
    throw ConfigError({.what = "the model has no parameters, so there is nothing to train",
                       .where = "model",
                       .remedy = "leave requires_grad of some parameters on"});
  for (const scavenger_tensor& tensor : std::span(model.parameters, model.parameter_count)) {
    if (type_of(tensor) != ElementType::kF32)
      throw_bad_tensor(tensor.name, std::string("is of type ") + tensor.type +
                                        ", and trained parameters are F32");
    require_new_name(parameters_, tensor.name);
    parameters_.add(tensor.name, shape_of(tensor));
    offsets_.push_back(parameters_.tensors().back().offset);
  }
  told_.resize(offsets_.size());
}

void HostTrainer::adopt_buffers(const scavenger_model& model) {
  for (std::uint32_t i = 0; i < model.buffer_count; ++i) {
    const scavenger_tensor& tensor = model.buffers[i];
    const ElementType type = type_of(tensor);
    std::vector<std::int64_t> shape = shape_of(tensor);
    std::uint64_t bytes = element_bytes(type);
    for (const std::int64_t side : shape) bytes *= static_cast<std::uint64_t>(side);
    const bool is_plain = type == ElementType::kF32;
    const std::string name = is_plain ? tensor.name : carried_name(tensor.name, type);
    require_new_name(buffers_, name);
    buffers_.add(name, is_plain ? shape : carried_shape(shape, type));
    host_buffers_.push_back(
        {{tensor.name, type, std::move(shape)}, {static_cast<std::byte*>(tensor.memory), bytes}});
  }
}

void HostTrainer::use_weights(std::span<float> weights) {
  SCAVENGER_CHECK(weights.size() == parameters_.flat_size());
  require_ok(host_.use_weights(host_.context, weights.data()));
}

void HostTrainer::use_gradients(std::span<float> gradients) {
  SCAVENGER_CHECK(gradients.size() == parameters_.flat_size());
  gradients_ = gradients;
  require_ok(host_.use_gradients(host_.context, gradients.data()));
}

void HostTrainer::release_vectors() {
  if (host_.release_vectors != nullptr) host_.release_vectors(host_.context);
}

void HostTrainer::end(const std::optional<WorkerIteration>& next) {
  if (host_.end == nullptr) return;
  const WorkerIteration last = next.value_or(WorkerIteration{});
  const scavenger_end end{.struct_bytes = sizeof(scavenger_end),
                          .iterations = last.iteration,
                          .took_part = next ? 1u : 0u,
                          .rank = last.rank,
                          .workers = next ? last.workers : 0u,
                          .global_batch_size = last.batch_size};
  require_ok(host_.end(host_.context, &end));
}

void HostTrainer::step(const ps::WholeStep& whole) {
  std::vector<float*> from, to;
  for (const std::span<float> vector : whole.from) from.push_back(vector.data());
  for (const std::span<float> vector : whole.to) to.push_back(vector.data());
  const scavenger_optimizer_step step{.struct_bytes = sizeof(scavenger_optimizer_step),
                                      .iteration = whole.step.iteration,
                                      .step_number = whole.step.step_number,
                                      .epochs = whole.step.epochs,
                                      .factor = whole.step.learning_rate,
                                      .gradient = whole.gradient.data(),
                                      .from = from.data(),
                                      .to = to.data(),
                                      .vectors = static_cast<std::uint32_t>(to.size())};
  require_ok(host_.step(host_.context, &step));
}

void HostTrainer::use_threads(std::uint32_t threads) {
  require_ok(host_.use_threads(host_.context, threads));
  threads_ = threads;
}

InParallel HostTrainer::in_parallel() const {
  if (host_.in_parallel == nullptr) return {};
  return [this](const std::function<void()>& work) {
    call_in_parallel(host_.in_parallel, threads_, work);
  };
}

void HostTrainer::write_initial_weights() {
  require_ok(host_.write_initial_weights(host_.context));
}

void HostTrainer::read_buffers(std::span<float> destination) const {
  SCAVENGER_CHECK(destination.size() == buffers_.flat_size());
  std::ranges::fill(destination, 0.0F);
  for (std::size_t i = 0; i < host_buffers_.size(); ++i) {
    const TensorPlace& place = buffers_.tensors()[i];
    const auto numbers = destination.subspan(place.offset, place.size);
    const HostBuffer& buffer = host_buffers_[i];
    if (buffer.carries.type == ElementType::kF32)
      std::memcpy(numbers.data(), buffer.bytes.data(), buffer.bytes.size());
    else
      pack_bytes(buffer.bytes, buffer.carries.type, numbers);
  }
}

void HostTrainer::write_buffers(std::span<const float> source) {
  SCAVENGER_CHECK(source.size() == buffers_.flat_size());
  for (std::size_t i = 0; i < host_buffers_.size(); ++i) {
    const TensorPlace& place = buffers_.tensors()[i];
    const auto numbers = source.subspan(place.offset, place.size);
    const HostBuffer& buffer = host_buffers_[i];
    if (place.name == kFrozenMark &&
        std::memcmp(numbers.data(), buffer.bytes.data(), buffer.bytes.size()) != 0)
      throw ConfigError({.what = "the parameters that are not trained are not those that the job "
                                 "began with",
                         .where = "model",
                         .remedy = "have make_model() load the same ones, or begin a new job"});
    if (buffer.carries.type == ElementType::kF32)
      std::memcpy(buffer.bytes.data(), numbers.data(), buffer.bytes.size());
    else
      unpack_bytes(numbers, buffer.carries.type, buffer.bytes);
  }
}

TrainingStep HostTrainer::forward_backward(const Batch& batch, std::uint64_t random_key,
                                           const GradientReady& ready) {
  SCAVENGER_CHECK(!gradients_.empty());
  std::fill(told_.begin(), told_.end(), false);
  ready_ = &ready;
  failure_ = nullptr;
  const scavenger_batch view = view_of(batch, true, begun_);
  scavenger_step step{};
  step.struct_bytes = sizeof(step);
  const int status = host_.forward_backward(
      host_.context, reinterpret_cast<scavenger_worker*>(this), &view, random_key, &step);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  require_ok(status);
  if (!std::isfinite(step.loss))
    throw JobError({.what = "the loss is " + std::to_string(step.loss) + ", not a finite number",
                    .where = {},
                    .remedy = "lower optimizer.learning_rate or use warm-up, and look for extreme "
                              "values in the data"});
  for (std::size_t i = offsets_.size(); i-- > 0;) {
    if (told_[i]) continue;
    const auto gradient = gradients_.subspan(offsets_[i], parameters_.tensors()[i].size);
    std::ranges::fill(gradient, 0.0F);
    tell(i);
  }
  ready_ = nullptr;
  return {.loss_sum = step.loss * batch.size,
          .forward_seconds = step.forward_seconds,
          .backward_seconds = step.backward_seconds,
          .data_wait_seconds = step.data_wait_seconds};
}

void HostTrainer::gradient_ready(std::uint32_t parameter) {
  if (failure_) return;
  try {
    if (ready_ == nullptr || parameter >= told_.size() || told_[parameter])
      throw JobError({.what = "the host program told of a gradient that is not due",
                      .where = "parameter " + std::to_string(parameter),
                      .remedy = {}});
    tell(parameter);
  } catch (...) {
    failure_ = std::current_exception();
  }
}

bool HostTrainer::work_ahead() {
  if (failure_ || ready_ == nullptr || !waiting_time_) return false;
  try {
    return waiting_time_();
  } catch (...) {
    failure_ = std::current_exception();
    return false;
  }
}

std::uint64_t HostTrainer::end_of(std::size_t parameter) const {
  return parameter + 1 < offsets_.size() ? offsets_[parameter + 1] : parameters_.flat_size();
}

void HostTrainer::tell(std::size_t parameter) {
  told_[parameter] = true;
  const std::uint64_t first = offsets_[parameter];
  const std::uint64_t gap = first + parameters_.tensors()[parameter].size;
  const std::uint64_t last = end_of(parameter);
  std::ranges::fill(gradients_.subspan(gap, last - gap), 0.0F);
  if (*ready_) (*ready_)(first, last);
}

EvaluationSums HostTrainer::evaluate(const Batch& batch) {
  const scavenger_batch view = view_of(batch, false);
  scavenger_sums host_sums{};
  host_sums.struct_bytes = sizeof(host_sums);
  require_ok(host_.evaluate(host_.context, &view, &host_sums));
  EvaluationSums sums;
  sums.samples = batch.size;
  sums.predictions = host_sums.predictions;
  sums.correct = host_sums.correct;
  sums.correct_in_top5 = host_sums.correct_in_top5;
  sums.loss = host_sums.loss;
  sums.negative_log_likelihood = host_sums.negative_log_likelihood;
  sums.squared_error = host_sums.squared_error;
  return sums;
}

void HostTrainer::expect(const Batch& batch) {
  const scavenger_batch view = view_of(batch, true);
  require_ok(host_.expect(host_.context, &view));
}

}  // namespace scavenger
