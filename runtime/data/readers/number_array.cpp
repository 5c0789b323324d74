#include "runtime/data/readers/number_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <span>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"
#include "runtime/data/readers/data_file.h"
#include "runtime/safetensors/safetensors.h"

namespace scavenger {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::uint64_t kMostNumbers = std::uint64_t{1} << 40;

[[noreturn]] void refuse(std::string what, const std::string& where, std::string remedy) {
  throw DataError({.what = std::move(what), .where = where, .remedy = std::move(remedy)});
}

[[noreturn]] void refuse_npy(std::string what, const std::string& where) {
  refuse(std::move(what), where, "write it with numpy.save()");
}

std::uint64_t bytes_of(std::string_view type) {
  return static_cast<std::uint64_t>(type.back() - '0');
}

bool is_known(const std::string& type) {
  constexpr std::array kTypes = {"b1", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

// Returns the value that follows 'key': in a Python dictionary, up to `end`.
std::string_view value_of(std::string_view header, std::string_view key, std::string_view end,
                          const std::string& where) {
  const std::size_t found = header.find(key);
  const std::size_t first = found == std::string_view::npos ? found : found + key.size();
  const std::size_t last = first == std::string_view::npos ? first : header.find(end, first);
  if (last == std::string_view::npos) refuse_npy(fmt::format("its header has no {}", key), where);
  return header.substr(first, last - first);
}

std::vector<std::int64_t> parse_shape(std::string_view text, const std::string& where) {
  std::vector<std::int64_t> shape;
  std::uint64_t numbers = 1;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.empty()) return shape;
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc{} || size < 0) refuse_npy("its shape is not one", where);
    shape.push_back(size);
    if (size > 0 && numbers > kMostNumbers / static_cast<std::uint64_t>(size))
      refuse_npy("it is too large", where);
    numbers *= static_cast<std::uint64_t>(size);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = value << 8U | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

template <typename Number>
double number_at(const std::vector<std::byte>& bytes, std::uint64_t index) {
  Number number;
  std::memcpy(&number, bytes.data() + index * sizeof number, sizeof number);
  return static_cast<double>(number);
}

NumberArray copy_of(const TensorEntry& tensor, const std::string& where) {
  static_assert(std::endian::native == std::endian::little);
  std::string type(element_type_name(tensor.type));  // "F32"
  type = type == "BOOL" ? "b1"
                        : fmt::format("{}{}", static_cast<char>(type[0] - 'A' + 'a'),
                                      element_bytes(tensor.type));
  if (!is_known(type))
    refuse(fmt::format("tensor \"{}\" holds numbers of type {}", tensor.name,
                       element_type_name(tensor.type)),
           where, "convert it to F32, U8 or an integer type");
  return {type, tensor.shape, {tensor.bytes.begin(), tensor.bytes.end()}};
}

NumberArray read_safetensors_array(const std::filesystem::path& path, const std::string& name,
                                   const std::string& remedy) {
  try {
    const MappedFile file(path);
    const SafetensorsContent content = parse_safetensors(file.bytes(), path.string());
    const TensorEntry* tensor = content.find(name);
    if (tensor != nullptr) return copy_of(*tensor, path.string());
    std::vector<std::string> names;
    for (const TensorEntry& entry : content.tensors) names.push_back(entry.name);
    refuse(fmt::format("it has no tensor \"{}\", only {}", name, join_words(names)), path.string(),
           remedy);
  } catch (const CheckpointError& error) {
    refuse(error.problem().what, path.string(), "write it with safetensors");
  }
}

}  // namespace

std::uint64_t NumberArray::size() const {
  return bytes.size() / bytes_of(type);
}

double NumberArray::at(std::uint64_t index) const {
  SCAVENGER_CHECK(index < size());
  if (type == "u1" || type == "b1") return number_at<std::uint8_t>(bytes, index);
  if (type == "i1") return number_at<std::int8_t>(bytes, index);
  if (type == "u2") return number_at<std::uint16_t>(bytes, index);
  if (type == "i2") return number_at<std::int16_t>(bytes, index);
  if (type == "u4") return number_at<std::uint32_t>(bytes, index);
  if (type == "i4") return number_at<std::int32_t>(bytes, index);
  if (type == "u8") return number_at<std::uint64_t>(bytes, index);
  if (type == "i8") return number_at<std::int64_t>(bytes, index);
  return type == "f4" ? number_at<float>(bytes, index) : number_at<double>(bytes, index);
}

NumberArray parse_npy(std::string_view content, const std::string& where) {
  constexpr std::size_t kFixedBytes = 10;
  if (!content.starts_with(kNpyMagic) || content.size() < kFixedBytes)
    refuse_npy("this is not an .npy file", where);
  const std::size_t length_bytes = content[6] == 1 ? 2 : 4;  // depends on the format version
  const std::size_t start = 8 + length_bytes;
  const std::uint64_t length = little_endian(content.substr(8, length_bytes));
  if (content.size() < start || content.size() - start < length)
    refuse_npy("the file ends within its header", where);
  const std::string_view header = content.substr(start, length);
  std::string_view type = value_of(header, "'descr': '", "'", where);
  if (type.size() != 3 || (type[0] != '<' && type[0] != '|') ||
      !is_known(std::string(type.substr(1))))
    refuse_npy(fmt::format("its numbers are of type {}: use float32, float64, uint8 or an integer "
                           "type, little-endian",
                           type),
               where);
  if (value_of(header, "'fortran_order': ", ",", where) != "False")
    refuse_npy("it is in Fortran's order: use numpy.ascontiguousarray()", where);
  NumberArray array{std::string(type.substr(1)),
                    parse_shape(value_of(header, "'shape': (", ")", where), where),
                    {}};
  const std::string_view data = content.substr(start + length);
  std::uint64_t numbers = 1;
  for (const std::int64_t size : array.shape) numbers *= static_cast<std::uint64_t>(size);
  if (data.size() != numbers * bytes_of(array.type))
    refuse_npy(fmt::format("it has {} bytes of data in place of {}: it is truncated", data.size(),
                           numbers * bytes_of(array.type)),
               where);
  const auto bytes = std::as_bytes(std::span(data));
  array.bytes.assign(bytes.begin(), bytes.end());
  return array;
}

NumberArray read_number_array(const std::filesystem::path& path, const std::string& name,
                              const std::string& section) {
  const std::string remedy = fmt::format("name one of these in {}", section);
  if (path.extension() == ".safetensors") return read_safetensors_array(path, name, remedy);
  const std::string content = DataFile(path).read_rest();
  if (!content.starts_with("PK")) return parse_npy(content, path.string());
  std::vector<std::string> names;
  const std::string member = read_from_zip(content, name + ".npy", names, path.string());
  if (member.empty()) {
    for (std::string& file : names)
      if (file.ends_with(".npy")) file.resize(file.size() - 4);
    refuse(fmt::format("it has no array \"{}\", only {}", name, join_words(names)), path.string(),
           remedy);
  }
  return parse_npy(member, fmt::format("{}, array {}", path.string(), name));
}

}  // namespace scavenger
