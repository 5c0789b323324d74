#include "runtime/data/readers/vocabulary.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/training/data_shape.h"

namespace scavenger {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

// Each line contains one word. A line break as a word is therefore written as a backslash and an n,
// and a word that begins with a backslash gets a second one.
std::string written(const std::string& word) {
  if (word == "\n") return "\\n";
  return word.starts_with('\\') ? '\\' + word : word;
}

std::string read_back(std::string_view line) {
  if (line == "\\n") return "\n";
  return std::string(line.starts_with("\\\\") ? line.substr(1) : line);
}

// Returns the number of bytes of the first character of `text` (RFC 3629, table 3-7 of Unicode); 0
// if it is not valid.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (second < low || second > high) return 0;
  const std::size_t bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (std::size_t i = 2; i < bytes; ++i)
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  return bytes;
}

}  // namespace

Vocabulary::Vocabulary(const WordCounts& counts, const VocabularyConfig& config) {
  for (const char* mark : {"<padding>", "<unknown>", "<begin>", "<end>"}) words_.emplace_back(mark);
  SCAVENGER_CHECK(words_.size() == kFirstWordToken);
  std::vector<std::pair<std::uint64_t, std::string>> chosen;
  for (const auto& [word, count] : counts)
    if (count >= config.min_frequency) chosen.emplace_back(count, word);
  std::ranges::stable_sort(chosen, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (config.max_size > 0 && chosen.size() > config.max_size) chosen.resize(config.max_size);
  for (auto& [count, word] : chosen) append(std::move(word));
}

Vocabulary::Vocabulary(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string word = read_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words_.size() < kFirstWordToken)
      words_.push_back(std::move(word));
    else
      append(std::move(word));
  }
}

void Vocabulary::append(std::string word) {
  tokens_.emplace(word, static_cast<std::int32_t>(words_.size()));
  words_.push_back(std::move(word));
}

std::int32_t Vocabulary::token_of(const std::string& word) const {
  const auto found = tokens_.find(word);
  return found == tokens_.end() ? static_cast<std::int32_t>(kUnknownToken) : found->second;
}

std::string Vocabulary::text() const {
  std::string text;
  for (const std::string& word : words_) text += written(word) + '\n';
  return text;
}

std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t bytes = character_bytes(text.substr(at));
    if (bytes == 0) return at;
    at += bytes;
  }
  return at;
}

std::string take_word(std::string_view& line, const VocabularyConfig& config) {
  std::size_t bytes = 0;
  if (config.tokens == TokenType::kCharacters) {
    bytes = line.empty() ? 0 : std::max<std::size_t>(character_bytes(line), 1);
  } else {
    line.remove_prefix(std::min(line.find_first_not_of(kWhiteSpace), line.size()));
    bytes = std::min(line.find_first_of(kWhiteSpace), line.size());
  }
  std::string word(line.substr(0, bytes));
  line.remove_prefix(bytes);
  if (config.lowercase)
    for (char& c : word)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return word;
}

std::vector<std::string> split_words(std::string_view line, const VocabularyConfig& config) {
  std::vector<std::string> words;
  for (std::string word = take_word(line, config); !word.empty(); word = take_word(line, config))
    words.push_back(std::move(word));
  return words;
}

}  // namespace scavenger
