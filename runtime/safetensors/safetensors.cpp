#include "runtime/safetensors/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/json_error.h"
#include "runtime/base/json_text.h"

namespace scavenger {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold little-endian numbers");

using Json = nlohmann::json;

constexpr std::uint64_t kPreambleAlignment = 64;
constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 16 << 20;  // about 100 000 tensors
constexpr int kMaxDepth = 4;                         // the format needs 3
constexpr const char* kMetadataKey = "__metadata__";

struct ElementTypeRow {
  ElementType type;
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::array kElementTypes = {ElementTypeRow{ElementType::kBool, "BOOL", 1},
                                      ElementTypeRow{ElementType::kU8, "U8", 1},
                                      ElementTypeRow{ElementType::kI8, "I8", 1},
                                      ElementTypeRow{ElementType::kF8E4M3, "F8_E4M3", 1},
                                      ElementTypeRow{ElementType::kF8E5M2, "F8_E5M2", 1},
                                      ElementTypeRow{ElementType::kU16, "U16", 2},
                                      ElementTypeRow{ElementType::kI16, "I16", 2},
                                      ElementTypeRow{ElementType::kF16, "F16", 2},
                                      ElementTypeRow{ElementType::kBF16, "BF16", 2},
                                      ElementTypeRow{ElementType::kU32, "U32", 4},
                                      ElementTypeRow{ElementType::kI32, "I32", 4},
                                      ElementTypeRow{ElementType::kF32, "F32", 4},
                                      ElementTypeRow{ElementType::kU64, "U64", 8},
                                      ElementTypeRow{ElementType::kI64, "I64", 8},
                                      ElementTypeRow{ElementType::kF64, "F64", 8}};

const ElementTypeRow& row_of(ElementType type) {
  const auto row = std::ranges::find(kElementTypes, type, &ElementTypeRow::type);
  SCAVENGER_CHECK(row != kElementTypes.end());
  return *row;
}

// Quotes a name from the file: escapes control characters and limits the length.
std::string quoted(const std::string& name) {
  constexpr std::size_t kLongest = 200;
  const std::string text = json_text(Json(name), {.ascii_only = true});
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

// Throws the errors of one file, with the file's name.
class Complaint final {
 public:
  explicit Complaint(const std::string& where) : where_(where) {}

  [[noreturn]] void file(const std::string& what) const {
    throw CheckpointError({.what = what,
                           .where = where_,
                           .remedy = "the file is damaged or not in the safetensors format: use "
                                     "another copy of it"});
  }
  [[noreturn]] void tensor(const std::string& name, const std::string& what) const {
    file("tensor " + quoted(name) + " " + what);
  }

 private:
  const std::string& where_;
};

// The JSON library silently keeps the last of two equal keys; here they are an error.
class KeyWatch final {
 public:
  explicit KeyWatch(const Complaint& complaint) : complaint_(complaint) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMaxDepth) complaint_.file("the header is nested too deeply");
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) complaint_.tensor(key, "appears twice in the header");
    }
    return true;
  }

 private:
  const Complaint& complaint_;
  std::vector<std::set<std::string>> keys_;
};

Json parse_header(std::string_view text, const Complaint& complaint) {
  if (!text.starts_with('{')) complaint.file("the header is not a JSON object");
  KeyWatch watch(complaint);
  try {
    return Json::parse(text.begin(), text.end(),
                       [&](int depth, Json::parse_event_t event, Json& parsed) {
                         return watch(depth, event, parsed);
                       });
  } catch (const Json::exception& error) {
    complaint.file("the header is not valid JSON: " + describe(error));
  }
}

std::map<std::string, std::string> parse_metadata(const Json& json, const Complaint& complaint) {
  std::map<std::string, std::string> metadata;
  if (!json.is_object()) complaint.file("__metadata__ is not a JSON object");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) complaint.file("__metadata__ holds something that is not text");
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

ElementType parse_type(const std::string& name, const Json& json, const Complaint& complaint) {
  if (!json.is_string()) complaint.tensor(name, "has a dtype that is not text");
  const auto row =
      std::ranges::find(kElementTypes, json.get_ref<const std::string&>(), &ElementTypeRow::name);
  if (row == kElementTypes.end()) {
    complaint.tensor(
        name, "has the unknown dtype " + json_text(json, {.ascii_only = true}).substr(0, 40));
  }
  return row->type;
}

std::vector<std::int64_t> parse_shape(const std::string& name, const Json& json,
                                      const Complaint& complaint) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  if (!json.is_array()) complaint.tensor(name, "has a shape that is not a list");
  std::vector<std::int64_t> shape;
  for (const Json& dimension : json) {
    if (!dimension.is_number_unsigned() || dimension.get<std::uint64_t>() > kLargest) {
      complaint.tensor(name, "has a dimension that is not a whole number from 0");
    }
    shape.push_back(dimension.get<std::int64_t>());
  }
  return shape;
}

// Returns nothing if the product does not fit into 64 bits.
std::optional<std::uint64_t> bytes_of(ElementType type, std::span<const std::int64_t> shape) {
  std::uint64_t bytes = element_bytes(type);
  for (const std::int64_t dimension : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(dimension), &bytes)) return {};
  }
  return bytes;
}

struct Extent {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

Extent parse_extent(const std::string& name, const Json& json, std::uint64_t data_bytes,
                    const Complaint& complaint) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_number_unsigned() ||
      !json[1].is_number_unsigned()) {
    complaint.tensor(name, "has data_offsets that are not two whole numbers");
  }
  const Extent extent{json[0].get<std::uint64_t>(), json[1].get<std::uint64_t>()};
  if (extent.first > extent.last) complaint.tensor(name, "ends before it begins");
  if (extent.last > data_bytes) {
    complaint.tensor(name, fmt::format("ends at byte {} of the data, which are only {} bytes long: "
                                       "the file is cut off",
                                       extent.last, data_bytes));
  }
  return extent;
}

TensorEntry parse_tensor(const std::string& name, const Json& json, std::span<const std::byte> data,
                         const Complaint& complaint) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets")) {
    complaint.tensor(name, "does not have exactly dtype, shape and data_offsets");
  }
  TensorEntry tensor{.name = name,
                     .type = parse_type(name, json["dtype"], complaint),
                     .shape = parse_shape(name, json["shape"], complaint),
                     .bytes = {}};
  const Extent extent = parse_extent(name, json["data_offsets"], data.size(), complaint);
  if (bytes_of(tensor.type, tensor.shape) != extent.last - extent.first) {
    complaint.tensor(
        name, fmt::format("has {} bytes of data, which is not {} x {}", extent.last - extent.first,
                          element_type_name(tensor.type), json_text(json["shape"]).substr(0, 200)));
  }
  tensor.bytes = data.subspan(extent.first, extent.last - extent.first);
  return tensor;
}

// Requires, like the reference implementation, that the tensors cover the data without overlaps and
// gaps.
void check_cover(std::span<const TensorEntry> tensors, std::span<const std::byte> data,
                 const Complaint& complaint) {
  const std::byte* place = data.data();
  for (const TensorEntry& tensor : tensors) {
    if (tensor.bytes.data() < place) complaint.tensor(tensor.name, "overlaps the one before it");
    if (tensor.bytes.data() > place) complaint.tensor(tensor.name, "comes after a hole");
    place += tensor.bytes.size();
  }
  const auto covered = static_cast<std::size_t>(place - data.data());
  if (covered != data.size()) {
    complaint.file(fmt::format("{} bytes after the last tensor", data.size() - covered));
  }
}

}  // namespace

std::string_view element_type_name(ElementType type) {
  return row_of(type).name;
}

std::uint64_t element_bytes(ElementType type) {
  return row_of(type).bytes;
}

void append_sources(const TensorLayout& layout, std::span<const float> flat,
                    const std::string& prefix, std::vector<TensorSource>& sources) {
  SCAVENGER_CHECK(flat.size() == layout.flat_size());
  for (const TensorPlace& place : layout.tensors()) {
    sources.push_back({.name = prefix + place.name,
                       .type = ElementType::kF32,
                       .shape = place.shape,
                       .bytes = std::as_bytes(flat.subspan(place.offset, place.size))});
  }
}

std::string safetensors_preamble(std::span<const TensorSource> sources,
                                 const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::uint64_t offset = 0;
  for (const TensorSource& source : sources) {
    SCAVENGER_CHECK(source.name != kMetadataKey && !header.contains(source.name));
    SCAVENGER_CHECK(bytes_of(source.type, source.shape) == source.bytes.size());
    const std::uint64_t last = offset + source.bytes.size();
    header[source.name] = {{"dtype", element_type_name(source.type)},
                           {"shape", source.shape},
                           {"data_offsets", {offset, last}}};
    offset = last;
  }
  std::string text = json_text(header);
  const std::uint64_t unaligned = (kLengthBytes + text.size()) % kPreambleAlignment;
  if (unaligned != 0) text.append(kPreambleAlignment - unaligned, ' ');
  const std::uint64_t length = text.size();
  std::string preamble(kLengthBytes, '\0');
  std::memcpy(preamble.data(), &length, kLengthBytes);
  return preamble + text;
}

const TensorEntry* SafetensorsContent::find(std::string_view name) const {
  const auto tensor = std::ranges::find(tensors, name, &TensorEntry::name);
  return tensor == tensors.end() ? nullptr : &*tensor;
}

SafetensorsContent parse_safetensors(std::span<const std::byte> file, const std::string& where) {
  const Complaint complaint(where);
  std::uint64_t length = 0;
  if (file.size() < kLengthBytes) complaint.file("the file is shorter than a header's length");
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > kMaxHeaderBytes) {
    complaint.file(
        fmt::format("a header of {} bytes, more than the limit of {}", length, kMaxHeaderBytes));
  }
  if (length > file.size() - kLengthBytes) complaint.file("the file ends within its header");
  const auto text = file.subspan(kLengthBytes, length);
  const auto data = file.subspan(kLengthBytes + length);
  const Json header =
      parse_header({reinterpret_cast<const char*>(text.data()), text.size()}, complaint);

  SafetensorsContent content;
  for (const auto& [name, json] : header.items()) {
    if (name == kMetadataKey) {
      content.metadata = parse_metadata(json, complaint);
    } else {
      content.tensors.push_back(parse_tensor(name, json, data, complaint));
    }
  }
  // A tensor without elements has the same offset as the next one, and comes before it.
  std::ranges::sort(content.tensors, {}, [](const TensorEntry& tensor) {
    return std::pair(tensor.bytes.data(), tensor.bytes.size());
  });
  check_cover(content.tensors, data, complaint);
  return content;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : where_(path.string()), file_(path), content_(parse_safetensors(file_.bytes(), where_)) {}

void SafetensorsFile::read(const TensorLayout& layout, const std::string& prefix,
                           std::span<float> flat) const {
  SCAVENGER_CHECK(flat.size() == layout.flat_size());
  const auto mismatch = [this](const std::string& name, const std::string& what) {
    return CheckpointError({.what = "tensor " + quoted(name) + " " + what,
                            .where = where_,
                            .remedy = "use a file that was written for the same model"});
  };
  std::unordered_map<std::string_view, const TensorEntry*> by_name;
  for (const TensorEntry& tensor : content_.tensors) by_name.emplace(tensor.name, &tensor);
  for (const TensorPlace& place : layout.tensors()) {
    const std::string name = prefix + place.name;
    const auto found = by_name.find(name);
    if (found == by_name.end()) throw mismatch(name, "is missing");
    const TensorEntry& tensor = *found->second;
    if (tensor.type != ElementType::kF32) {
      throw mismatch(name, fmt::format("is {}, not F32", element_type_name(tensor.type)));
    }
    if (tensor.shape != place.shape) {
      throw mismatch(name, fmt::format("has the shape {}, not {}", tensor.shape, place.shape));
    }
    std::memcpy(flat.data() + place.offset, tensor.bytes.data(), tensor.bytes.size());
  }
}

}  // namespace scavenger
