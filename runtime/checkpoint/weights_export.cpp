#include "runtime/checkpoint/weights_export.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>

#include "runtime/base/file.h"
#include "runtime/checkpoint/carried_tensor.h"
#include "runtime/checkpoint/pattern.h"
#include "runtime/safetensors/safetensors.h"

namespace scavenger {
namespace {

// Replaces the numbers of a carried tensor by the bytes of its elements, which `storage` keeps.
void unpack_carried(TensorSource& source, std::deque<std::vector<std::byte>>& storage) {
  const auto carried = carried_by(source.name, source.shape);
  if (!carried) return;
  const std::span<const float> numbers{reinterpret_cast<const float*>(source.bytes.data()),
                                       source.bytes.size() / sizeof(float)};
  std::vector<std::byte>& bytes = storage.emplace_back();
  std::uint64_t elements = 1;
  for (const std::int64_t side : carried->shape) elements *= static_cast<std::uint64_t>(side);
  bytes.resize(elements * element_bytes(carried->type));
  unpack_bytes(numbers, carried->type, bytes);
  source = {carried->name, carried->type, carried->shape, bytes};
}

bool is_frozen_mark(const TensorSource& source) {
  return source.name == kFrozenMark;
}

}  // namespace

void export_safetensors(const Checkpoint& checkpoint, const FrozenWeights& frozen,
                        const std::filesystem::path& destination) {
  std::vector<TensorSource> sources;
  append_sources(checkpoint.parameters, checkpoint.weights, "", sources);
  append_sources(checkpoint.buffers, checkpoint.buffer_values, "", sources);
  std::erase_if(sources, is_frozen_mark);
  std::deque<std::vector<std::byte>> storage;
  for (TensorSource& source : sources) unpack_carried(source, storage);

  std::optional<SafetensorsFile> start;
  if (!frozen.file.empty()) {
    start.emplace(frozen.file);
    for (const TensorEntry& entry : start->content().tensors)
      if (fits_any(entry.name, frozen.patterns) &&
          std::ranges::find(sources, entry.name, &TensorSource::name) == sources.end())
        sources.push_back({entry.name, entry.type, entry.shape, entry.bytes});
  }
  std::string content = safetensors_preamble(sources, {{"format", "pt"}});
  for (const TensorSource& source : sources)
    content.append(reinterpret_cast<const char*>(source.bytes.data()), source.bytes.size());
  write_output_file(destination, content);
}

}  // namespace scavenger
