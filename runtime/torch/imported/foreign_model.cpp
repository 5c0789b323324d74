#include "runtime/torch/imported/foreign_model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <sstream>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/checkpoint/carried_tensor.h"
#include "runtime/torch/imported/memory_limit.h"

namespace scavenger {
namespace {

constexpr std::int64_t kTrials = 2;  // samples of the trial run of a model

bool is_plain(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat;
}

// Returns nothing for types that safetensors does not have.
std::optional<ElementType> element_type_of(const at::Tensor& tensor) {
  static const std::map<at::ScalarType, ElementType> kTypes = {
      {at::kBool, ElementType::kBool}, {at::kByte, ElementType::kU8},
      {at::kChar, ElementType::kI8},   {at::kShort, ElementType::kI16},
      {at::kHalf, ElementType::kF16},  {at::kBFloat16, ElementType::kBF16},
      {at::kInt, ElementType::kI32},   {at::kLong, ElementType::kI64},
      {at::kDouble, ElementType::kF64}};
  const auto found = kTypes.find(tensor.scalar_type());
  return found == kTypes.end() ? std::nullopt : std::optional(found->second);
}

std::span<float> numbers_of(const at::Tensor& carried) {
  return {carried.data_ptr<float>(), static_cast<std::size_t>(carried.numel())};
}

void pack(const at::Tensor& own, const at::Tensor& carried) {
  if (is_plain(own)) {
    carried.copy_(own);
    return;
  }
  const at::Tensor whole = own.cpu().contiguous();
  pack_bytes({static_cast<const std::byte*>(whole.const_data_ptr()), whole.nbytes()},
             *element_type_of(own), numbers_of(carried));
}

void unpack(const at::Tensor& carried, const at::Tensor& own) {
  if (is_plain(own)) {
    own.copy_(carried);
    return;
  }
  const at::Tensor whole = own.cpu().contiguous().clone();
  unpack_bytes(numbers_of(carried), *element_type_of(own),
               {static_cast<std::byte*>(whole.mutable_data_ptr()), whole.nbytes()});
  own.copy_(whole);
}

InitialValues values_of_now(const at::Tensor& tensor) {
  const at::NoGradGuard no_gradients;
  const at::Tensor values = tensor.contiguous().clone();
  return [values](std::span<float> destination, RandomStream&) {
    const float* const first = values.const_data_ptr<float>();
    std::copy(first, first + destination.size(), destination.begin());
  };
}

ModelInput input_like(const DataShape& data, std::int64_t size) {
  std::vector<std::int64_t> shape = {size};
  shape.insert(shape.end(), data.sample_shape.begin(), data.sample_shape.end());
  ModelInput input;
  input.samples = data.vocabulary > 0 ? at::ones(shape, at::kLong) : at::zeros(shape, at::kFloat);
  if (data.target == TargetKind::kSequence)
    input.targets = at::ones({size, data.target_shape.front()}, at::kLong);
  return input;
}

}  // namespace

std::string cause_of(const std::exception& error) {
  const std::string message = error.what();
  const std::size_t marked = message.rfind("RuntimeError: ");
  std::size_t first = marked == std::string::npos ? 0 : marked + 14;
  // A module's own error is in the last line, below the traceback.
  if (first == 0 && message.find("Traceback of TorchScript") != std::string::npos)
    first = message.rfind('\n', message.find_last_not_of('\n')) + 1;
  return message.substr(first, message.find('\n', first) - first);
}

at::Tensor ForeignModel::adopt_parameter(const std::string& name, const at::Tensor& tensor) {
  const Memory memory{tensor.const_data_ptr(), tensor.sizes().vec(), tensor.strides().vec()};
  if (const auto seen = seen_.find(memory); seen != seen_.end()) return seen->second;
  seen_.emplace(memory, tensor);
  if (!tensor.requires_grad()) return tensor;
  if (!is_plain(tensor) || tensor.numel() == 0)
    throw ConfigError({.what = "parameter " + name + " is of type " +
                               c10::toString(tensor.scalar_type()) +
                               (tensor.numel() == 0 ? ", and empty" : ""),
                       .where = where_,
                       .remedy = "export the model in float32: model.float()"});
  add_parameter(name, tensor, values_of_now(tensor));
  return tensor;
}

void ForeignModel::adopt_buffers() {
  for (const auto& [name, tensor] : current_buffers()) {
    if (is_plain(tensor)) {
      add_buffer(name, tensor.sizes().vec(), values_of_now(tensor));
      continue;
    }
    const auto type = element_type_of(tensor);
    if (!type || tensor.numel() == 0)
      throw ConfigError({.what = "buffer " + name + " is of type " +
                                 c10::toString(tensor.scalar_type()) +
                                 (tensor.numel() == 0 ? ", and empty" : ""),
                         .where = where_,
                         .remedy = "use buffers of floats, integers or booleans"});
    const at::Tensor numbers = at::zeros(carried_shape(tensor.sizes().vec(), *type), at::kFloat);
    pack(tensor, numbers);
    add_buffer(carried_name(name, *type), numbers.sizes().vec(), values_of_now(numbers));
  }
}

// Models of tokens may return logits for any number of positions.
void ForeignModel::require_outputs(const at::Tensor& outputs, const DataShape& data) const {
  if (!at::isFloatingType(outputs.scalar_type()))
    throw ConfigError({.what = std::string("the model answers numbers of type ") +
                               c10::toString(outputs.scalar_type()) +
                               ", which no loss can be minimised with",
                       .where = where_,
                       .remedy = "return the logits themselves, as floats: neither argmax() nor "
                                 "long()"});
  const std::int64_t expected = output_count(data);
  const bool fits = data.vocabulary > 0
                        ? outputs.dim() == 3 && outputs.size(2) == expected
                        : outputs.numel() == kTrials * expected && outputs.size(0) == kTrials;
  if (fits) return;
  std::ostringstream text;
  text << "the model's output is " << outputs.sizes() << ", and should be [" << kTrials
       << (data.vocabulary > 0 ? ", positions, " : ", ") << expected << "]";
  throw ConfigError({.what = text.str(),
                     .where = where_,
                     .remedy = "make its last layer fit the data's classes or target values"});
}

void ForeignModel::try_out(const DataShape& data, bool has_own_loss) {
  if (parameters().empty())
    throw ConfigError({.what = "the model has no parameters, so there is nothing to train",
                       .where = where_,
                       .remedy = "export a module whose parameters have requires_grad"});
  if (has_own_loss) return;  // its forward() may return anything
  const at::NoGradGuard no_gradients;
  set_training(false);
  const at::Tensor outputs = forward(input_like(data, kTrials));
  set_training(true);
  require_outputs(outputs, data);
}

// The model's buffers stay in host memory; the module's own buffers are copied from and to them.
void ForeignModel::move_to(at::Device device) {
  for (const auto& [memory, tensor] : seen_) move_tensor(tensor, device);
  for (const auto& [name, tensor] : current_buffers()) move_tensor(tensor, device);
}

at::Tensor ForeignModel::forward(const ModelInput& input) {
  return run("run the model on such samples", [&] { return run_forward(input); });
}

at::Tensor ForeignModel::own_loss(const ModelInput& input, const at::Tensor& targets) {
  return run("compute the model's loss", [&] { return run_loss(input, targets); });
}

void ForeignModel::require_same_buffers(const Named& own) const {
  for (std::size_t i = 0; i < std::min(own.size(), buffers().size()); ++i) {
    const auto& [name, tensor] = own[i];
    const auto type = element_type_of(tensor);
    const at::IntArrayRef taken_in = buffers()[i].tensor.sizes();
    const bool is_same =
        is_plain(tensor)
            ? taken_in == tensor.sizes()
            : type && taken_in == at::IntArrayRef(carried_shape(tensor.sizes().vec(), *type));
    if (is_same) continue;
    std::ostringstream text;
    text << "buffer " << name << " has become " << tensor.sizes() << " of type "
         << c10::toString(tensor.scalar_type()) << ", and was of another shape or type";
    throw ConfigError({.what = text.str(),
                       .where = where_,
                       .remedy = "give buffers their full size at the beginning: only their values "
                                 "may change"});
  }
}

at::Tensor ForeignModel::run(const char* doing, const std::function<at::Tensor()>& code) {
  if (training() != is_training_) {
    is_training_ = training();
    run_set_training(is_training_);
  }
  Named own = current_buffers();
  require_same_buffers(own);
  // There may also be a buffer with the mark of frozen parameters.
  SCAVENGER_CHECK(own.size() <= buffers().size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    const at::NoGradGuard no_gradients;
    unpack(buffers()[i].tensor, own[i].second);
  }
  const at::Tensor result = guarded(doing, code);
  if (!is_training_) return result;
  own = current_buffers();
  require_same_buffers(own);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const at::NoGradGuard no_gradients;
    pack(own[i].second, buffers()[i].tensor);
  }
  return result;
}

at::Tensor ForeignModel::guarded(const char* doing, const std::function<at::Tensor()>& code) const {
  try {
    return code();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) throw;
    throw ConfigError({.what = std::string("cannot ") + doing + ": " + cause_of(error),
                       .where = where_,
                       .remedy = "compare what its forward() takes with the data's shape"});
  }
}

}  // namespace scavenger
