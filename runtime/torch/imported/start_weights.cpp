#include "runtime/torch/imported/start_weights.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/checkpoint/carried_tensor.h"
#include "runtime/checkpoint/pattern.h"
#include "runtime/safetensors/safetensors.h"

namespace scavenger {
namespace {

constexpr std::size_t kMostNames = 8;
constexpr std::string_view kCounter = "num_batches_tracked";

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t side : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(side);
  }
  return text + "]";
}

struct Mismatch {
  std::vector<std::string> missing;
  std::vector<std::string> extra;
  std::vector<std::string> other;

  std::string text() const {
    std::string result;
    const auto add = [&result](const char* kind, const std::vector<std::string>& names) {
      if (names.empty()) return;
      result += (result.empty() ? "" : "; ") + std::string(kind) + ": ";
      for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i)
        result += (i > 0 ? ", " : "") + names[i];
      if (names.size() > kMostNames)
        result += " and " + std::to_string(names.size() - kMostNames) + " more";
    };
    add("missing in the file", missing);
    add("not in this model", extra);
    add("not as the model has it", other);
    return result;
  }
};

// Returns how the file's tensor differs from the model's; empty if it does not.
std::string difference(const TensorEntry& entry, const CarriedTensor& wanted) {
  if (entry.shape != wanted.shape)
    return shape_text(entry.shape) + " and should be " + shape_text(wanted.shape);
  if (entry.type != wanted.type)
    return std::string(element_type_name(entry.type)) + ", not " +
           std::string(element_type_name(wanted.type));
  return {};
}

CarriedTensor wanted_by(const NamedTensor& named) {
  const auto shape = named.tensor.sizes().vec();
  if (auto carried = carried_by(named.name, shape)) return *carried;
  return {named.name, ElementType::kF32, shape};
}

// torch.save() writes a zip archive; old versions wrote a pickle.
void require_no_pytorch_file(const std::filesystem::path& path) {
  std::array<char, 2> first{};
  std::ifstream(path, std::ios::binary).read(first.data(), first.size());
  if (first != std::array{'P', 'K'} && first[0] != '\x80') return;
  if (path.extension() == ".safetensors") return;  // a safetensors file may begin with any byte
  throw ConfigError({.what = "this is a file of torch.save(), and weights come as safetensors",
                     .where = path.string(),
                     .remedy = "in Python: safetensors.torch.save_file(model.state_dict(), "
                               "\"weights.safetensors\")"});
}

}  // namespace

void start_from(const std::filesystem::path& path, const std::vector<std::string>& except,
                Model& model) {
  require_no_pytorch_file(path);
  const auto file = std::make_shared<SafetensorsFile>(path);
  Mismatch mismatch;
  std::set<std::string> known;
  model.for_each_tensor([&](NamedTensor& named) {
    const CarriedTensor wanted = wanted_by(named);
    known.insert(wanted.name);
    if (fits_any(wanted.name, except)) return;
    const TensorEntry* const entry = file->content().find(wanted.name);
    if (entry == nullptr) {
      mismatch.missing.push_back(wanted.name);
      return;
    }
    if (const std::string differs = difference(*entry, wanted); !differs.empty()) {
      mismatch.other.push_back(wanted.name + " is " + differs);
      return;
    }
    named.initial_values = [file, bytes = entry->bytes, type = entry->type](std::span<float> values,
                                                                            RandomStream&) {
      if (type == ElementType::kF32)
        std::memcpy(values.data(), bytes.data(), bytes.size());
      else
        pack_bytes(bytes, type, values);
    };
  });
  for (const TensorEntry& entry : file->content().tensors)
    if (!known.contains(entry.name) && !fits_any(entry.name, except) &&
        !entry.name.ends_with(kCounter))
      mismatch.extra.push_back(entry.name);
  if (const std::string text = mismatch.text(); !text.empty())
    throw ConfigError({.what = "these weights are of another model; " + text,
                       .where = path.string(),
                       .remedy = "use weights of the same model, or list what is to start afresh "
                                 "in model.start.except"});
}

}  // namespace scavenger
