// Files of samples: IDX, CIFAR-10, CSV, plain and gzip; arrays of NumPy, text and its vocabulary;
// and the prepared file that is made of them.
#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "runtime/base/digest.h"
#include "runtime/data/prepared_file.h"
#include "runtime/data/readers/number_array.h"
#include "runtime/data/readers/source_readers.h"
#include "test/fuzz/fuzz.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/data/data_files.h"
#include "test/unit/runtime/data/readers/array_files.h"

using namespace scavenger;

namespace {

constexpr std::uint32_t kClasses = 3;

// scripts/run_sanitisers.sh has it in memory: nothing here has to last.
const std::filesystem::path& scratch() {
  static const TemporaryFolder folder;
  return folder.path();
}

void write(const std::filesystem::path& path, const std::string& content) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
  REQUIRE(::write(file.get(), content.data(), content.size()) ==
          static_cast<ssize_t>(content.size()));
}

std::uint64_t elements(const std::vector<std::int64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::int64_t dimension : shape) count *= static_cast<std::uint64_t>(dimension);
  return count;
}

void check(const SampleTable& table) {
  require_consistent(!table.labels.empty() && !table.sample_shape.empty());
  for (const std::int64_t dimension : table.sample_shape) require_consistent(dimension > 0);
  const std::uint64_t expected = table.labels.size() * elements(table.sample_shape);
  const bool are_bytes = table.feature_type == FeatureType::kUint8;
  require_consistent((are_bytes ? table.bytes.size() : table.floats.size()) == expected);
  for (const float value : table.floats) require_consistent(std::isfinite(value));
  for (const std::int32_t label : table.labels)
    require_consistent(label >= 0 && label < static_cast<std::int32_t>(kClasses));
}

// Readers fetch 16 MiB at most at a time, and zlib has buffers of its own.
constexpr AllocationLimit kReaderLimit{.bytes = 40 << 20, .bytes_per_byte = 1100};

std::vector<std::string> plain_and_gzip(std::vector<std::string> plain) {
  for (std::size_t i = 0, count = plain.size(); i < count; ++i)
    plain.push_back(gzip(plain[i], scratch()));
  return plain;
}

// ---- The prepared file. ----

constexpr std::size_t kHeaderBytes = 304;   // a PreparedHeader,
constexpr std::size_t kChecksumBytes = 32;  // which ends with the digest of what is before

std::string prepared(const SampleTable& table, const Digest& key) {
  const std::filesystem::path path = scratch() / "whole";
  write_prepared_file(path, table, key);
  return read_file(path);
}

// Mostly with the right digest after the damage, which nobody but a forger does.
class PreparedFiles final {
 public:
  explicit PreparedFiles(std::vector<std::string> files) : mutations_(53, std::move(files)) {}
  std::string operator()() {
    RandomStream& random = mutations_.random();
    if (random.below(20) == 0) return mutations_.next();
    std::string file = mutations_.original();
    std::string header = file.substr(0, kHeaderBytes);
    for (std::uint64_t n = random.below(3); n > 0; --n) mutations_.change(header);
    header.resize(kHeaderBytes - kChecksumBytes);
    const Digest digest = sha256(bytes_of(header));
    header.append(reinterpret_cast<const char*>(digest.data()), digest.size());
    file.replace(0, kHeaderBytes, header);
    if (random.below(4) == 0) file.resize(random.below(file.size()));
    return file;
  }

 private:
  Mutations mutations_;
};

}  // namespace

TEST_CASE("fuzz: damaged IDX files are refused, or hold as many samples as labels") {
  std::string pixels(12, '\7');
  const auto images = plain_and_gzip({idx_content({3, 2, 2}, pixels), idx_content({3, 4}, pixels)});
  const auto labels = plain_and_gzip({idx_content({3}, std::string("\2\0\1", 3))});
  Mutations damaged_images(59, images), damaged_labels(61, labels);
  DataSourceConfig source;
  source.format = DataFormat::kIdx;
  source.features = scratch() / "images";
  source.labels = scratch() / "labels";

  const Verdicts verdicts = fuzz<DataError>(
      [&] {
        const bool spares_images = damaged_images.random().below(2) == 0;
        write(source.labels, spares_images ? damaged_labels.next() : damaged_labels.original());
        return spares_images ? damaged_images.original() : damaged_images.next();
      },
      [&](const std::string& input) {
        write(source.features, input);
        check(read_idx(source, kClasses, "data.train"));
      },
      kReaderLimit);

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a damaged CIFAR-10 batch is refused, or is of whole records") {
  DataSourceConfig source;
  source.format = DataFormat::kCifar10;
  source.files = {scratch() / "batch"};
  const std::string record = std::string(1, '\1') + std::string(3072, '\x55');

  const Verdicts verdicts = fuzz<DataError>(
      Mutations(67, plain_and_gzip({record, record + record})),
      [&](const std::string& input) {
        write(source.files[0], input);
        check(read_cifar(source, kClasses, "data.train"));
      },
      kReaderLimit);

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a damaged CSV file is refused, or is a table of finite numbers") {
  DataSourceConfig source;
  source.format = DataFormat::kCsv;
  source.files = {scratch() / "samples.csv"};
  const std::vector<std::string> originals =
      plain_and_gzip({"1.5,2,0\n-3e2,\"4\",1\n", "a,b,label\n1,2,2\n\n 3 , 4 , 0 \r\n", "1,1\n"});
  const std::vector<std::string> fragments = {",",   "\"",           "\"\"", "\n",  "\r\n",
                                              "nan", "inf",          "1e99", "0x1", "+",
                                              "-0",  "\xef\xbb\xbf", "label"};
  Mutations mutations(71, originals, fragments);

  const Verdicts verdicts = fuzz<DataError>(
      [&] {
        source.has_header = mutations.random().below(2) == 0;
        source.label_column = source.has_header ? "label" : "last";
        return mutations.next();
      },
      [&](const std::string& input) {
        write(source.files[0], input);
        check(read_csv(source, kClasses, "data.train"));
      },
      kReaderLimit);

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a damaged array of NumPy is refused, or has as many numbers as its shape says") {
  const std::vector<std::string> originals = {
      npy("<f4", "2, 3", content_of<float>({1, 2, 3, 4, 5, 6})), npy("|u1", "2, 1, 2", "abcd"),
      npy("<i8", "2,", content_of<std::int64_t>({2, 0})),
      npy("<f8", "2, 2", content_of<double>({0.5, -1, 2, 1e-3}), "True")};
  const std::vector<std::string> fragments = {
      "'", "(", ")", ",", "{", "}", "descr", "shape", "True", "-1", "4294967296", "<", ">f4"};

  const Verdicts verdicts = fuzz<DataError>(
      Mutations(73, originals, fragments),
      [](const std::string& input) {
        const NumberArray array = parse_npy(input, "x.npy");
        require_consistent(array.size() == elements(array.shape) || array.shape.empty());
        if (array.size() > 0) array.at(array.size() - 1);
      },
      kReaderLimit);

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a damaged archive of arrays is refused, or the file in it is whole") {
  const std::string array = npy("<f4", "2,", content_of<float>({7, 8}));
  const std::vector<std::string> archives = {zip({{"other.npy", "x"}, {"x.npy", array}}),
                                             zip({{"x.npy", array, true}})};
  Mutations mutations(79, archives, {"PK\x01\x02", "PK\x03\x04", "PK\x05\x06", "x.npy"});

  const Verdicts verdicts = fuzz<DataError>(
      mutations,
      [&](const std::string& input) {
        std::vector<std::string> names;
        const std::string found = read_from_zip(input, "x.npy", names, "x.npz");
        require_consistent(found == array || found.empty());  // its checksum is right
      },
      kReaderLimit);

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: damaged text is refused, or all its tokens are words of its vocabulary") {
  DataConfig data;
  data.train.format = DataFormat::kText;
  data.train.files = {scratch() / "text.txt"};
  data.vocabulary.min_frequency = 1;
  const std::vector<std::string> fragments = {
      "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xff", "\n", " ", "\r\n", "\t"};
  Mutations mutations(83, {"the cat sat\non the mat\n", "\xc3\xa9t\xc3\xa9 \xe2\x82\xac 5\n"},
                      fragments);

  const Verdicts verdicts = fuzz<DataError>(
      [&] {
        data.vocabulary.tokens =
            mutations.random().below(2) == 0 ? TokenType::kWords : TokenType::kCharacters;
        return mutations.next();
      },
      [&](const std::string& input) {
        write(data.train.files[0], input);
        const SampleTable table = read_text(data, Split::kTrain);
        const Vocabulary vocabulary(table.vocabulary);
        for (const std::int32_t token : table.tokens)
          require_consistent(token >= 0 && token < static_cast<std::int32_t>(vocabulary.size()));
        require_consistent(vocabulary.text() == table.vocabulary);
      },
      kReaderLimit);

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a damaged prepared file is not current, or its samples lie in it") {
  SampleTable bytes, floats;
  bytes.sample_shape = {1, 2, 2};
  bytes.bytes.assign(12, 7);
  floats.feature_type = FeatureType::kFloat32;
  floats.sample_shape = {3};
  floats.floats.assign(9, 1.5F);
  bytes.labels = floats.labels = {2, 0, 1};
  const Digest key = sha256({});
  const std::filesystem::path path = scratch() / "prepared";

  const Verdicts verdicts = fuzz<DataError>(
      PreparedFiles({prepared(bytes, key), prepared(floats, key)}), [&](const std::string& input) {
        write(path, input);
        const auto file = PreparedFile::open_if_current(path, key);
        if (!file) throw DataError({.what = "not current", .where = {}, .remedy = {}});
        require_consistent(file->sample_count() > 0 && file->elements_per_sample() > 0);
        require_consistent(elements(file->sample_shape()) == file->elements_per_sample());
        double sum = 0.0;  // reads every byte: outside of the file there are none
        for (std::uint32_t i = 0; i < file->sample_count(); ++i) {
          sum += file->labels()[i];
          if (file->feature_type() == FeatureType::kUint8)
            for (const std::uint8_t value : file->bytes(i)) sum += value;
          else
            for (const float value : file->floats(i)) sum += value;
        }
        require_consistent(!std::isnan(sum) || file->feature_type() == FeatureType::kFloat32);
      });

  CHECK(verdicts.accepted > 0);
}
