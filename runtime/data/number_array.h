// An array of numbers out of a file that NumPy or safetensors wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace scavenger {

struct NumberArray {
  std::string type;  // as NumPy writes it, without the byte order: "u1", "f4"; little-endian
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;  // row-major

  std::uint64_t size() const;  // numbers
  double at(std::uint64_t index) const;
};

// The file is an .npy, an .npz or a .safetensors file; in the latter two `name` says which array.
// `remedy` tells how to name another file. Throws DataError for what is not such a file, is
// truncated, has no such array, or holds something other than real numbers.
NumberArray read_number_array(const std::filesystem::path& path, const std::string& name,
                              const std::string& section);

// For .npz and tests: the content of an .npy file.
NumberArray parse_npy(std::string_view content, const std::string& where);

// A file of a ZIP archive, unpacked; `names` gets those of all files.
std::string read_from_zip(std::string_view archive, const std::string& name,
                          std::vector<std::string>& names, const std::string& where);

}  // namespace scavenger
