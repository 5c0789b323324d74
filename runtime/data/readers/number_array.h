// Reads an array of numbers from a file of NumPy or safetensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace scavenger {

struct NumberArray {
  std::string type;  // NumPy's name without the byte order: "u1", "f4"; little-endian
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;  // row-major

  std::uint64_t size() const;  // how many numbers
  double at(std::uint64_t index) const;
};

// Reads an .npy, .npz or .safetensors file; in the latter two, `name` selects the array. `section`
// is the place of the source in the configuration, which remedies name. Throws DataError if the
// file has another format, is truncated, lacks the array, or contains anything but real numbers.
NumberArray read_number_array(const std::filesystem::path& path, const std::string& name,
                              const std::string& section);

// Parses the content of an .npy file (for .npz files and tests).
NumberArray parse_npy(std::string_view content, const std::string& where);

// Returns the unpacked content of a file of a ZIP archive. Sets `names` to the names of all its
// files.
std::string read_from_zip(std::string_view archive, const std::string& name,
                          std::vector<std::string>& names, const std::string& where);

}  // namespace scavenger
