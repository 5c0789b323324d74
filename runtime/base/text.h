// Small pure functions on text that several error messages and reports share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scavenger {

// The candidate with the smallest edit distance to `word`, or "" where none is near enough to be a
// likely slip.
std::string nearest_word(std::string_view word, std::span<const std::string> candidates);

// "a, b and c".
std::string join_words(std::span<const std::string> words);

// "1.5 KiB", "44.7 MiB".
std::string format_bytes(std::uint64_t bytes);

// "850 ms", "12.3 s", "4 min 05 s", "1 h 02 min".
std::string format_duration(double seconds);

// Lower-case hexadecimal; and back. `parse_hex` throws InputError on anything else.
std::string to_hex(std::span<const std::byte> bytes);
std::vector<std::byte> parse_hex(std::string_view text);

}  // namespace scavenger
