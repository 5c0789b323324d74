#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/data/readers/data_file.h"
#include "runtime/data/readers/source_readers.h"
#include "runtime/data/readers/vocabulary.h"
#include "runtime/training/data_shape.h"

namespace scavenger {
namespace {

const char* text_section_of(Split split) {
  return split == Split::kTrain ? "data.train" : "data.test";
}

const DataSourceConfig& source_of(const DataConfig& data, Split split) {
  return split == Split::kTrain ? data.train : data.test;
}

std::string read_utf8(const std::filesystem::path& path) {
  std::string text = DataFile(path).read_rest();
  const std::size_t invalid = find_invalid_utf8(text);
  if (invalid == text.size()) return text;
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(invalid), '\n');
  throw DataError({.what = "this line is not UTF-8",
                   .where = fmt::format("{}:{}", path.string(), line),
                   .remedy = "convert the file: iconv -f latin1 -t utf-8, or whatever it is in"});
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// ---- Running text. ----

// If tokens are words, the end of a line is a token, too: "\n".
void append_words(std::string_view text, const VocabularyConfig& config,
                  std::vector<std::string>& words) {
  const bool by_lines = config.tokens == TokenType::kWords;
  while (!text.empty()) {
    const std::string_view part = by_lines ? take_line(text) : std::exchange(text, {});
    std::ranges::move(split_words(part, config), std::back_inserter(words));
    if (by_lines) words.emplace_back("\n");
  }
}

// Returns the words of a split: those between two fractions of the words of all files.
std::vector<std::string> read_words(const DataConfig& data, Split split) {
  const DataSourceConfig& source = source_of(data, split);
  std::vector<std::string> words;
  for (const std::filesystem::path& path : source.files)
    append_words(read_utf8(path), data.vocabulary, words);
  const auto place = [&](double share) {
    return static_cast<std::ptrdiff_t>(std::llround(share * static_cast<double>(words.size())));
  };
  const std::ptrdiff_t first = place(source.from), last = place(source.to);
  if (last <= first)
    throw DataError(
        {.what = "there is no text",
         .where = source.files.empty() ? text_section_of(split) : source.files[0].string(),
         .remedy = fmt::format("name files with text in {0}.files, or widen {0}.from "
                               "and {0}.to",
                               text_section_of(split))});
  return {std::make_move_iterator(words.begin() + first),
          std::make_move_iterator(words.begin() + last)};
}

// ---- Parallel text. ----

class LineFile final {
 public:
  explicit LineFile(const std::filesystem::path& path)
      : path_(path), text_(read_utf8(path)), rest_(text_) {}

  bool at_end() const { return rest_.empty(); }
  std::vector<std::string> read(const VocabularyConfig& config) {
    ++line_;
    return split_words(take_line(rest_), config);
  }
  // The place of the line that was read last.
  std::string place() const { return fmt::format("{}:{}", path_.string(), line_); }
  std::string path() const { return path_.string(); }
  std::uint64_t line_count() const {
    const auto breaks = std::ranges::count(text_, '\n');
    return static_cast<std::uint64_t>(breaks) + (!text_.empty() && text_.back() != '\n' ? 1 : 0);
  }

 private:
  const std::filesystem::path path_;
  const std::string text_;
  std::string_view rest_;
  std::uint64_t line_ = 0;
};

struct Pair {
  std::vector<std::string> source, target;
  std::string place;
};

template <typename Visit>
void for_each_pair(const DataConfig& data, Split split, const Visit& visit) {
  LineFile source(source_of(data, split).source), target(source_of(data, split).target);
  if (source.line_count() != target.line_count())
    throw DataError({.what = fmt::format("{} lines, where {} has {}", source.line_count(),
                                         target.path(), target.line_count()),
                     .where = source.path(),
                     .remedy = "give two files of which line i of one is the translation of line i "
                               "of the other"});
  if (source.at_end())
    throw DataError(
        {.what = "the file is empty",
         .where = source.path(),
         .remedy = fmt::format("name a file with text in {}.source", text_section_of(split))});
  while (!source.at_end()) {
    Pair pair{source.read(data.vocabulary), target.read(data.vocabulary), source.place()};
    for (const auto& [words, file] : {std::pair(&pair.source, &source), {&pair.target, &target}})
      if (words->empty())
        throw DataError({.what = "the line is empty, or has only white space",
                         .where = file->place(),
                         .remedy = "take the pair out of both files, or correct it"});
    visit(pair);
  }
}

void append_tokens(const std::vector<std::string>& words, const Vocabulary& vocabulary,
                   std::vector<std::int32_t>& tokens, std::vector<std::uint64_t>& ends) {
  for (const std::string& word : words) tokens.push_back(vocabulary.token_of(word));
  tokens.push_back(static_cast<std::int32_t>(kEndToken));
  ends.push_back(tokens.size());
}

// Training data skips longer pairs; test data must be complete.
bool is_too_long(const Pair& pair, const DataConfig& data, Split split) {
  const std::size_t length = std::max(pair.source.size(), pair.target.size());
  if (length <= data.max_length) return false;
  if (split == Split::kTrain) return true;
  throw DataError(
      {.what = fmt::format("{} words are more than data.max_length, {}", length, data.max_length),
       .where = pair.place,
       .remedy = "raise data.max_length: nothing is left out of test data"});
}

SampleTable read_pairs(const DataConfig& data, Split split, const Vocabularies& vocabularies) {
  SampleTable table;
  table.token_ends = table.target_ends = {0};
  for_each_pair(data, split, [&](const Pair& pair) {
    if (is_too_long(pair, data, split)) return;
    append_tokens(pair.source, vocabularies.source, table.tokens, table.token_ends);
    table.target_tokens.push_back(static_cast<std::int32_t>(kBeginToken));
    append_tokens(pair.target, vocabularies.target, table.target_tokens, table.target_ends);
  });
  if (table.tokens.empty())
    throw DataError(
        {.what = fmt::format("all lines have more words than data.max_length, {}", data.max_length),
         .where = source_of(data, split).source.string(),
         .remedy = "raise data.max_length"});
  return table;
}

}  // namespace

Vocabularies build_vocabularies(const DataConfig& data) {
  WordCounts source, target;
  if (data.train.format == DataFormat::kText) {
    for (const std::string& word : read_words(data, Split::kTrain)) ++source[word];
    const Vocabulary vocabulary(source, data.vocabulary);
    return {vocabulary, vocabulary};
  }
  WordCounts& of_targets = data.vocabulary.shared ? source : target;
  for_each_pair(data, Split::kTrain, [&](const Pair& pair) {
    if (is_too_long(pair, data, Split::kTrain)) return;
    for (const std::string& word : pair.source) ++source[word];
    for (const std::string& word : pair.target) ++of_targets[word];
  });
  return {Vocabulary(source, data.vocabulary), Vocabulary(of_targets, data.vocabulary)};
}

SampleTable read_text(const DataConfig& data, Split split) {
  const Vocabularies vocabularies = build_vocabularies(data);
  SampleTable table;
  if (data.train.format == DataFormat::kParallelText)
    table = read_pairs(data, split, vocabularies);
  else
    for (const std::string& word : read_words(data, split))
      table.tokens.push_back(vocabularies.source.token_of(word));
  table.feature_type = FeatureType::kToken;
  table.vocabulary = vocabularies.source.text();
  table.target_vocabulary = vocabularies.target.text();
  return table;
}

}  // namespace scavenger
