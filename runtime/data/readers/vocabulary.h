// The mapping between words and tokens.
//
// Tokens 0 to 3 are kPaddingToken, kUnknownToken, kBeginToken and kEndToken; the words of the
// training data follow, the most frequent first, and equally frequent ones in the order of their
// bytes.
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
  // Contains the words that min_frequency and max_size of `config` select.
  Vocabulary(const WordCounts& counts, const VocabularyConfig& config);
  // Reads the words that text() has written.
  explicit Vocabulary(std::string_view text);

  std::uint32_t size() const { return static_cast<std::uint32_t>(words_.size()); }
  // Returns kUnknownToken if the vocabulary does not have the word.
  std::int32_t token_of(const std::string& word) const;
  const std::string& word_of(std::size_t token) const { return words_.at(token); }
  // Returns one word per line, in the order of the tokens.
  std::string text() const;

 private:
  void append(std::string word);

  std::vector<std::string> words_;  // by token
  std::unordered_map<std::string, std::int32_t> tokens_;
};

// Returns the index of the first byte that is not valid UTF-8; the size of `text` if all of it is
// valid.
std::size_t find_invalid_utf8(std::string_view text);

// Removes the first token from a line of UTF-8 and returns it: a word, which ends at white space,
// or one character; "" if there is none. With config.lowercase, A to Z become a to z.
std::string take_word(std::string_view& line, const VocabularyConfig& config);

// Returns all tokens of a line.
std::vector<std::string> split_words(std::string_view line, const VocabularyConfig& config);

}  // namespace scavenger
