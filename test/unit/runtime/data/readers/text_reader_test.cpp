#include <catch2/catch.hpp>
#include <set>

#include "runtime/data/batch_assembler.h"
#include "runtime/data/data_set.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/data/data_files.h"

namespace scavenger {

using Catch::Contains;

namespace {

using Tokens = std::vector<std::int64_t>;

class TextFolder final {
 public:
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    write_file_atomically(folder_.path() / name, content);
    return folder_.path() / name;
  }
  DataConfig pairs(const std::string& source, const std::string& target) const {
    DataConfig data;
    data.train.format = data.test.format = DataFormat::kParallelText;
    data.train.source = data.test.source = write("train.en", source);
    data.train.target = data.test.target = write("train.de", target);
    return data;
  }
  DataConfig text(const std::string& content) const {
    DataConfig data;
    data.train.format = data.test.format = DataFormat::kText;
    data.train.files = data.test.files = {write("text.txt", content)};
    data.vocabulary.tokens = TokenType::kCharacters;
    return data;
  }
  DataSet open(const DataConfig& data, Split split = Split::kTrain) const {
    return DataSet::open(data, split, folder_.path() / "cache");
  }
  std::string error_of(const DataConfig& data, Split split = Split::kTrain) const {
    return data_error_of([&] { open(data, split); });
  }

 private:
  TemporaryFolder folder_;
};

std::string words_of(std::string_view vocabulary, const Tokens& tokens) {
  const Vocabulary words(vocabulary);
  std::string text;
  for (const std::int64_t token : tokens)
    text += words.word_of(static_cast<std::size_t>(token)) + " ";
  return text;
}

std::string numbered_words(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "w" + std::to_string(i) + " ";
  return text;
}

}  // namespace

TEST_CASE("Pairs of lines become padded sequences between their marks") {
  const TextFolder folder;
  const DataConfig data = folder.pairs("a b c\na\n", "x\nx y\n");
  const DataSet set = folder.open(data);
  Batch batch;

  BatchAssembler::for_evaluation(set, data).assemble(BatchPlace::whole(0, 2), batch);

  CHECK(set.size() == 2);
  CHECK(set.shape().vocabulary == 4 + 3);
  CHECK(set.shape().classes == 4 + 2);
  CHECK(set.shape().target == TargetKind::kSequence);
  CHECK(batch.sample_shape == std::vector<std::int64_t>{4});
  CHECK(words_of(set.vocabulary(), batch.tokens) == "a b c <end> a <end> <padding> <padding> ");
  CHECK(batch.target_shape == std::vector<std::int64_t>{4});
  CHECK(words_of(set.target_vocabulary(), batch.labels) ==
        "<begin> x <end> <padding> <begin> x y <end> ");
  CHECK(batch.loss_terms == 2.5);  // x <end>, x y <end>
}

TEST_CASE("Test data are read with the words of the training data") {
  const TextFolder folder;
  DataConfig data = folder.pairs("A b\nb b\n", "X Y\nx x\n");
  data.vocabulary = {.lowercase = true, .min_frequency = 2};
  data.test.source = folder.write("test.en", "c B a\n");
  data.test.target = folder.write("test.de", "y X\n");
  const DataSet set = folder.open(data, Split::kTest);
  Batch batch;

  BatchAssembler::for_evaluation(set, data).assemble(BatchPlace::whole(0, 1), batch);

  CHECK(set.vocabulary() == "<padding>\n<unknown>\n<begin>\n<end>\nb\n");
  CHECK(words_of(set.vocabulary(), batch.tokens) == "<unknown> b <unknown> <end> ");
  CHECK(words_of(set.target_vocabulary(), batch.labels) == "<begin> <unknown> x <end> ");
}

TEST_CASE("A shared vocabulary has the words of both languages") {
  const TextFolder folder;
  DataConfig data = folder.pairs("a b\n", "b c\n");
  data.vocabulary.shared = true;

  const DataSet set = folder.open(data);

  CHECK(set.vocabulary() == set.target_vocabulary());
  CHECK(set.shape().vocabulary == 4 + 3);
  CHECK(set.source_tokens(0)[1] == set.target_tokens(0)[1]);
}

TEST_CASE("Long pairs are left out of training data, and an error in test data") {
  const TextFolder folder;
  DataConfig data = folder.pairs("a b c\na b\n", "x\nx\n");
  data.max_length = 2;

  CHECK(folder.open(data).size() == 1);
  CHECK_THAT(folder.error_of(data, Split::kTest),
             Contains("train.en:1") && Contains("3 words") && Contains("data.max_length"));
  data = folder.pairs("a b c\n", "x\n");
  data.max_length = 2;
  CHECK_THAT(folder.error_of(data), Contains("all lines have more words"));
}

TEST_CASE("Parallel text that is not parallel is an error that names the place") {
  const TextFolder folder;

  CHECK_THAT(folder.error_of(folder.pairs("a\nb\nc\n", "x\ny\n")),
             Contains("train.en") && Contains("3 lines") && Contains("has 2"));
  CHECK_THAT(folder.error_of(folder.pairs("a\n \nc\n", "x\ny\nz\n")),
             Contains("train.en:2") && Contains("is empty"));
  CHECK_THAT(folder.error_of(folder.pairs("a\nb\n", "x\n\n")),
             Contains("train.de:2") && Contains("is empty"));
  CHECK_THAT(folder.error_of(folder.pairs("", "")), Contains("the file is empty"));
  CHECK_THAT(folder.error_of(folder.pairs("a\nb\xff\n", "x\ny\n")),
             Contains("train.en:2") && Contains("UTF-8"));
}

TEST_CASE("Another vocabulary setting, or other training files, make another vocabulary") {
  const TextFolder folder;
  DataConfig data = folder.pairs("a a b\n", "x x y\n");
  data.test.source = folder.write("test.en", "a b\n");
  data.test.target = folder.write("test.de", "x y\n");
  CHECK(folder.open(data, Split::kTest).shape().vocabulary == 6);

  data.vocabulary.min_frequency = 2;
  CHECK(folder.open(data, Split::kTest).shape().vocabulary == 5);
  folder.write("train.en", "a a b b\n");
  CHECK(folder.open(data, Split::kTest).shape().vocabulary == 6);
}

TEST_CASE("Running text is cut into sequences, and each token is predicted from those before") {
  const TextFolder folder;
  DataConfig data = folder.text("abcdefghijklm");
  data.sequence_length = 4;
  const DataSet set = folder.open(data, Split::kTest);
  Batch batch;

  BatchAssembler::for_evaluation(set, data).assemble(BatchPlace::whole(1, 2), batch);

  CHECK(set.size() == 3);
  CHECK(words_of(set.vocabulary(), batch.tokens) == "e f g h i j k l ");
  CHECK(words_of(set.vocabulary(), batch.labels) == "f g h i j k l m ");
  CHECK(batch.target_shape == std::vector<std::int64_t>{4});
  CHECK(batch.loss_terms == 4.0);
  CHECK(set.shape().target == TargetKind::kNextTokens);
  CHECK(set.shape().classes == set.shape().vocabulary);
}

TEST_CASE("Training cuts the text elsewhere in each epoch") {
  const TextFolder folder;
  DataConfig data = folder.text(numbered_words(200));
  data.vocabulary.tokens = TokenType::kWords;
  data.sequence_length = 8;
  const DataSet set = folder.open(data);
  BatchAssembler assembler = BatchAssembler::for_training(set, data, 3);
  std::set<std::int64_t> starts;
  Batch batch;

  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    assembler.assemble(BatchPlace::whole(epoch * set.size(), set.size()), batch);
    std::set<std::int64_t> firsts;
    for (std::uint32_t i = 0; i < set.size(); ++i) firsts.insert(batch.tokens[i * 8]);
    CHECK(firsts.size() == set.size());
    starts.insert(batch.tokens.begin(), batch.tokens.end());
  }

  CHECK(starts.size() > 190);  // nearly every word was in a sequence
}

TEST_CASE("Two splits can be parts of one file") {
  const TextFolder folder;
  DataConfig data = folder.text("abcdefghij");
  data.sequence_length = 2;
  data.train.to = data.test.from = 0.6;

  const DataSet train = folder.open(data), test = folder.open(data, Split::kTest);

  CHECK(train.running_tokens().size() == 6);
  CHECK(test.running_tokens().size() == 4);
  CHECK(test.running_tokens()[0] == kUnknownToken);  // not in the training data
  data.sequence_length = 4;
  CHECK_THAT(folder.error_of(data, Split::kTest),
             Contains("4 tokens are too few for sequences of 4"));
}

TEST_CASE("Where words are tokens the end of a line is one as well") {
  const TextFolder folder;
  DataConfig data = folder.text("a b\nc\n");
  data.vocabulary.tokens = TokenType::kWords;
  data.sequence_length = 2;

  CHECK(folder.open(data).running_tokens().size() == 5);
}

}  // namespace scavenger
