// The safetensors format (https://github.com/huggingface/safetensors): named tensors in one file,
// without code in it, which Python's `safetensors` reads, too.
//
//   u64 little-endian: length of the header
//   header             JSON {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
//                            "__metadata__": {"key": "text"}}, padded with spaces
//   data               tensors one after the other, row-major, without gaps
//
// The reader accepts untrusted bytes: it returns a consistent header or throws CheckpointError, and
// allocates at most a small multiple of the header's length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/training/tensor_layout.h"

namespace scavenger {

enum class ElementType {
  kBool,
  kU8,
  kI8,
  kF8E4M3,
  kF8E5M2,
  kU16,
  kI16,
  kF16,
  kBF16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64
};

std::string_view element_type_name(ElementType type);  // "F32"
std::uint64_t element_bytes(ElementType type);         // 4

// A tensor to be written to a file. `bytes` is a view, which is written without a copy.
struct TensorSource {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

// Appends each tensor of a flat vector under `prefix` + its name. `flat` must outlive the sources.
void append_sources(const TensorLayout& layout, std::span<const float> flat,
                    const std::string& prefix, std::vector<TensorSource>& sources);

// Returns the part of the file before the data, which are the sources' bytes in this order. Its
// length is a multiple of 64, so that tensors in a mapped file are aligned. Requires distinct names
// other than "__metadata__", and bytes that match type and shape.
std::string safetensors_preamble(std::span<const TensorSource> sources,
                                 const std::map<std::string, std::string>& metadata);

struct TensorEntry {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // view of the file
};

struct SafetensorsContent {
  std::vector<TensorEntry> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;

  const TensorEntry* find(std::string_view name) const;  // null if there is none
};

// Returns views into `file`, the bytes of a whole file; `where` names it in errors. Throws
// CheckpointError.
SafetensorsContent parse_safetensors(std::span<const std::byte> file, const std::string& where);

// A safetensors file that is mapped into memory.
class SafetensorsFile final {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  const SafetensorsContent& content() const { return content_; }
  // Copies the tensors `prefix` + name of `layout` into their places in `flat`, which has
  // layout.flat_size() floats; the gaps are not changed. Throws CheckpointError, which names the
  // tensor, if one is missing, is not F32, or has another shape.
  void read(const TensorLayout& layout, const std::string& prefix, std::span<float> flat) const;

 private:
  std::string where_;
  MappedFile file_;
  SafetensorsContent content_;
};

}  // namespace scavenger
