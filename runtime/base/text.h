// Small pure functions on text that error messages and reports share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scavenger {

// Returns the candidate with the smallest edit distance to `word`, or "" if none is close enough
// for `word` to be a likely typing error.
std::string nearest_word(std::string_view word, std::span<const std::string> candidates);

// Returns "a, b and c".
std::string join_words(std::span<const std::string> words);

// The text of a file without the mark that Excel puts before UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

// Returns the number that the whole text is; nothing if it is none that is finite.
std::optional<double> finite_number(std::string_view text);
// The same; nothing if it is not above 0.
std::optional<double> positive_number(std::string_view text);

// Of the facts that the kernel writes line by line: returns what follows `key`, and blanks, on the
// first line that starts with it.
std::optional<std::string_view> rest_of_line(std::string_view text, std::string_view key);
// Returns the whole number with which the text begins, after spaces.
std::optional<std::uint64_t> leading_number(std::string_view text);

// Returns `word` so that a shell reads it as one word, whatever characters it has: as it is if it
// needs no quotes.
std::string shell_quoted(const std::string& word);

// Returns, for instance, "1.5 KiB" or "44.7 MiB".
std::string format_bytes(std::uint64_t bytes);

// Returns, for instance, "850 ms", "12.3 s", "4 min 05 s" or "1 h 02 min".
std::string format_duration(double seconds);

// Conversions between bytes and lower-case hexadecimal. `parse_hex` throws InputError if `text` is
// anything else.
std::string to_hex(std::span<const std::byte> bytes);
std::vector<std::byte> parse_hex(std::string_view text);

}  // namespace scavenger
