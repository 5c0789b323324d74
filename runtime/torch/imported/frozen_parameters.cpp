#include "runtime/torch/imported/frozen_parameters.h"

#include <algorithm>
#include <array>

#include "runtime/base/digest.h"
#include "runtime/base/error.h"
#include "runtime/checkpoint/carried_tensor.h"
#include "runtime/checkpoint/pattern.h"

namespace scavenger {
namespace {

constexpr std::size_t kMarkNumbers = sizeof(Digest) / 2;

void require_sensible(const std::vector<std::string>& patterns, const Model& model) {
  std::size_t frozen = 0;
  for (const Parameter& parameter : model.parameters())
    frozen += fits_any(parameter.name, patterns) ? 1 : 0;
  for (const std::string& pattern : patterns)
    if (std::none_of(
            model.parameters().begin(), model.parameters().end(),
            [&](const Parameter& parameter) { return fits_pattern(parameter.name, pattern); }))
      throw ConfigError({.what = "the model has no parameter \"" + pattern + "\"",
                         .where = "model.freeze",
                         .remedy = "name parameters such as " + model.parameters().front().name});
  if (frozen == model.parameters().size())
    throw ConfigError({.what = "all parameters are frozen, so there is nothing to train",
                       .where = "model.freeze",
                       .remedy = "leave some out"});
}

}  // namespace

void freeze_parameters(const std::vector<std::string>& patterns, std::uint64_t seed, Model& model) {
  if (patterns.empty()) return;
  require_sensible(patterns, model);
  const auto frozen =
      model.freeze([&](const std::string& name) { return fits_any(name, patterns); });
  DigestStream digest;
  for (const NamedTensor& named : frozen) {
    RandomStream stream(seed, "weights", {named.place});
    const std::span<float> values{named.tensor.data_ptr<float>(),
                                  static_cast<std::size_t>(named.tensor.numel())};
    named.initial_values(values, stream);
    digest.update(std::as_bytes(values));
  }
  std::vector<float> mark(kMarkNumbers);
  pack_bytes(digest.finish(), ElementType::kU16, mark);
  model.add_buffer(kFrozenMark, {static_cast<std::int64_t>(mark.size())},
                   [mark](std::span<float> values, RandomStream&) {
                     std::copy(mark.begin(), mark.end(), values.begin());
                   });
}

void require_frozen_as(const at::Tensor& mark, std::span<const float> stored) {
  const at::Tensor own = mark.cpu();
  if (std::equal(stored.begin(), stored.end(), own.const_data_ptr<float>())) return;
  throw ConfigError({.what = "the frozen parameters are not those that this job was begun with",
                     .where = "model.start.weights",
                     .remedy = "bring the file back, or start a new job"});
}

}  // namespace scavenger
