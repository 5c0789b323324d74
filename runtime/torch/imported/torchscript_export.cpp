#include "runtime/torch/imported/torchscript_export.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cstring>
#include <map>
#include <span>
#include <string>

#include "runtime/base/error.h"
#include "runtime/checkpoint/carried_tensor.h"

namespace scavenger {
namespace {

using Tensors = std::map<std::string, at::Tensor>;

[[noreturn]] void throw_other_model(const std::filesystem::path& module, const std::string& name) {
  throw ConfigError({.what = "the module has no tensor " + name + " of this shape",
                     .where = module.string(),
                     .remedy = "use the file that the job was started with"});
}

void put(const TensorPlace& place, std::span<const float> flat, const Tensors& tensors,
         const std::filesystem::path& module) {
  const auto values = flat.subspan(place.offset, place.size);
  const auto carried = carried_by(place.name, place.shape);
  const auto found = tensors.find(carried ? carried->name : place.name);
  if (found == tensors.end() || found->second.sizes() != (carried ? carried->shape : place.shape))
    throw_other_model(module, place.name);
  at::Tensor whole = at::empty_like(found->second, at::MemoryFormat::Contiguous);
  if (carried)
    unpack_bytes(values, carried->type,
                 {static_cast<std::byte*>(whole.mutable_data_ptr()), whole.nbytes()});
  else
    std::memcpy(whole.mutable_data_ptr(), values.data(), values.size_bytes());
  found->second.copy_(whole);
}

}  // namespace

void export_torchscript(const std::filesystem::path& path, const Checkpoint& checkpoint,
                        const std::filesystem::path& destination) {
  const at::NoGradGuard no_gradients;
  try {
    torch::jit::Module module = torch::jit::load(path.string(), at::kCPU);
    Tensors tensors;
    for (const auto& parameter : module.named_parameters())
      tensors.emplace(parameter.name, parameter.value);
    for (const auto& buffer : module.named_buffers()) tensors.emplace(buffer.name, buffer.value);
    for (const TensorPlace& place : checkpoint.parameters.tensors())
      put(place, checkpoint.weights, tensors, path);
    for (const TensorPlace& place : checkpoint.buffers.tensors())
      put(place, checkpoint.buffer_values, tensors, path);
    module.eval();
    module.save(destination.string());
  } catch (const c10::Error& error) {
    throw ConfigError({.what = std::string("cannot read the module or write it: ") +
                               error.what_without_backtrace(),
                       .where = path.string(),
                       .remedy = "use the file that the job was started with, and a folder that "
                                 "can be written to"});
  }
}

}  // namespace scavenger
