// Words and the tokens that stand for them.
//
// Tokens 0 to 3 are kPaddingToken, kUnknownToken, kBeginToken and kEndToken; then come the words
// of the training data, the most frequent first, equally frequent ones in the order of their bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/config/job_config.h"

namespace scavenger {

using WordCounts = std::map<std::string, std::uint64_t, std::less<>>;

// Constant, so any thread may read it.
class Vocabulary final {
 public:
  // min_frequency and max_size of `config` decide which words it has.
  Vocabulary(const WordCounts& counts, const VocabularyConfig& config);
  // The words that text() wrote.
  explicit Vocabulary(std::string_view text);

  std::uint32_t size() const { return static_cast<std::uint32_t>(words_.size()); }
  std::int32_t token_of(const std::string& word) const;  // kUnknownToken where it has no such word
  const std::string& word_of(std::size_t token) const { return words_.at(token); }
  // One word a line, in the order of their tokens.
  std::string text() const;

 private:
  void append(std::string word);

  std::vector<std::string> words_;  // by token
  std::unordered_map<std::string, std::int32_t> tokens_;
};

// Where `text` stops being UTF-8; its size where it is all UTF-8.
std::size_t find_invalid_utf8(std::string_view text);

// Takes the first word off a line of UTF-8: what white space ends, or one character; "" where there
// is none. With config.lowercase, A to Z become a to z.
std::string take_word(std::string_view& line, const VocabularyConfig& config);

// All words of a line.
std::vector<std::string> split_words(std::string_view line, const VocabularyConfig& config);

}  // namespace scavenger
