#include "runtime/data/readers/vocabulary.h"

#include <catch2/catch.hpp>

#include "runtime/training/data_shape.h"

namespace scavenger {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("The most frequent word comes first, equal ones by their bytes") {
  const Vocabulary vocabulary({{"a", 2}, {"b", 5}, {"c", 2}}, {});

  REQUIRE(vocabulary.size() == kFirstWordToken + 3);
  CHECK(vocabulary.token_of("b") == kFirstWordToken);
  CHECK(vocabulary.token_of("a") == kFirstWordToken + 1);
  CHECK(vocabulary.token_of("c") == kFirstWordToken + 2);
  CHECK(vocabulary.word_of(kFirstWordToken) == "b");
  CHECK(vocabulary.token_of("d") == kUnknownToken);
}

TEST_CASE("Rare words are unknown, and only as many are known as are wanted") {
  const WordCounts counts = {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}};

  CHECK(Vocabulary(counts, {.min_frequency = 3}).size() == kFirstWordToken + 2);
  CHECK(Vocabulary(counts, {.min_frequency = 3}).token_of("b") == kUnknownToken);
  CHECK(Vocabulary(counts, {.max_size = 1}).token_of("d") == kFirstWordToken);
  CHECK(Vocabulary(counts, {.max_size = 1}).token_of("c") == kUnknownToken);
}

TEST_CASE("The names of the marks are no words of the data") {
  CHECK(Vocabulary({{"<end>", 1}}, {}).token_of("<end>") == kFirstWordToken);
  CHECK(Vocabulary({{"a", 1}}, {}).token_of("<end>") == kUnknownToken);
}

TEST_CASE("A vocabulary that was written is read as the same") {
  const Vocabulary vocabulary({{"\n", 9}, {"\\n", 8}, {"\\", 7}, {"\\\\n", 6}, {"ä", 5}, {" ", 4}},
                              {});

  const Vocabulary again(vocabulary.text());

  CHECK(again.text() == vocabulary.text());
  REQUIRE(again.size() == vocabulary.size());
  for (std::uint32_t token = 0; token < again.size(); ++token)
    CHECK(again.word_of(token) == vocabulary.word_of(token));
  CHECK(again.token_of("\n") == kFirstWordToken);
}

TEST_CASE("Words are what white space ends; characters are those of UTF-8") {
  const VocabularyConfig words{.lowercase = true};
  const VocabularyConfig characters{.tokens = TokenType::kCharacters};

  CHECK(split_words(" Ein  MANN ,\tÄrger\r", words) == Words{"ein", "mann", ",", "Ärger"});
  CHECK(split_words("", words).empty());
  CHECK(split_words("aä€😀\n", characters) == Words{"a", "ä", "€", "😀", "\n"});
}

TEST_CASE("What is not UTF-8 is found") {
  CHECK(find_invalid_utf8("aä€😀") == std::string("aä€😀").size());
  for (const std::string bad : {"\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80",
                                "\xf5\x80\x80\x80", "\xf0\x9f\x98"})
    CHECK(find_invalid_utf8("ab" + bad) == 2);
}

}  // namespace
}  // namespace scavenger
