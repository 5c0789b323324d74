// The files of a checkpoint: safetensors, the manifest, the state.
#include <algorithm>
#include <cstring>

#include "runtime/base/digest.h"
#include "runtime/base/text.h"
#include "runtime/checkpoint/checkpoint_manifest.h"
#include "runtime/checkpoint/checkpoint_state.h"
#include "runtime/safetensors/safetensors.h"
#include "test/fuzz/fuzz.h"
#include "test/unit/runtime/checkpoint/sample_checkpoint.h"

using namespace scavenger;

namespace {

// ---- safetensors ----

std::string with_length(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return file + header + data;
}

struct Tensors {
  std::string header;
  std::string data;
};

const std::vector<Tensors> kTensorFiles = {
    {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", std::string(8, 'x')},
    {R"({"__metadata__":{"format":"pt"},)"
     R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
     R"("b":{"dtype":"I64","shape":[],"data_offsets":[16,24]},)"
     R"("c":{"dtype":"U8","shape":[0],"data_offsets":[24,24]}}   )",
     std::string(24, 'x')},
    {"{}", ""}};

const std::vector<std::string> kJsonFragments = {"{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 ",",
                                                 ":",
                                                 "\"",
                                                 "-1",
                                                 "1e9",
                                                 "1.5",
                                                 "null",
                                                 "true",
                                                 "\xff",
                                                 "\\u0000",
                                                 "18446744073709551615",
                                                 "9223372036854775808",
                                                 "\"dtype\":\"F64\",",
                                                 "\"a\":{\"dtype\":\"F32\",\"shape\":[2],",
                                                 "\"__metadata__\":",
                                                 "[[[[[[[[",
                                                 "\"name\":\"../secret\",",
                                                 "\"slots\":[\"a/b\",\"\"],"};

// Half of the time the damage is in the header, whose length is right: it reaches the JSON.
class TensorFiles final {
 public:
  std::string operator()() {
    const Tensors& file = kTensorFiles[whole_.random().below(kTensorFiles.size())];
    if (whole_.random().below(2) == 0) return whole_.next();
    std::string header = file.header;
    for (std::uint64_t n = whole_.random().below(4) + 1; n > 0; --n) headers_.change(header);
    return with_length(header, file.data);
  }

 private:
  static std::vector<std::string> files(bool whole) {
    std::vector<std::string> all;
    for (const Tensors& file : kTensorFiles)
      all.push_back(whole ? with_length(file.header, file.data) : file.header);
    return all;
  }
  Mutations whole_{20261121, files(true), kJsonFragments};
  Mutations headers_{20261122, files(false), kJsonFragments};
};

void decode_tensors(const std::string& file) {
  const auto bytes = bytes_of(file);
  const SafetensorsContent content = parse_safetensors(bytes, "damaged");
  for (const TensorEntry& tensor : content.tensors)
    require_consistent(tensor.bytes.data() >= bytes.data() &&
                       tensor.bytes.data() + tensor.bytes.size() <= bytes.data() + bytes.size());
}

// ---- The manifest. ----

std::string seal(const std::string& body) {
  return "  \"manifest_sha256\": \"" + to_hex(sha256(bytes_of(body))) + "\"\n}\n";
}

// Mostly sealed after the damage, which nobody but a forger does.
class Manifests final {
 public:
  std::string operator()() {
    if (mutations_.random().below(8) == 0) return mutations_.next();
    std::string body =
        mutations_.original().substr(0, mutations_.original().size() - seal("").size());
    for (std::uint64_t n = mutations_.random().below(4) + 1; n > 0; --n) mutations_.change(body);
    return body + seal(body);
  }

 private:
  static std::string sample() {
    return encode_manifest({kCheckpointFormatVersion,
                            1234,
                            true,
                            {{"weights.safetensors", 100, std::string(64, 'a')},
                             {"state.json", 7, std::string(64, 'b')}}});
  }
  Mutations mutations_{31, {sample()}, kJsonFragments};
};

void decode_manifest_text(const std::string& text) {
  const CheckpointManifest manifest = decode_manifest(text, "damaged");
  if (manifest.format_version != kCheckpointFormatVersion) return;
  const CheckpointManifest again = decode_manifest(encode_manifest(manifest), "again");
  require_consistent(again.iteration == manifest.iteration && again.is_best == manifest.is_best &&
                     again.files.size() == manifest.files.size());
  for (const ManifestFile& file : manifest.files)
    require_consistent(!file.name.empty() && file.name.find('/') == std::string::npos);
}

// ---- The state. ----

// The tensors of the sample's weights.safetensors, as parsed.
struct SampleWeights {
  SampleWeights() : checkpoint(sample_checkpoint()) {
    std::vector<TensorSource> sources;
    append_sources(checkpoint.parameters, checkpoint.weights, "", sources);
    append_sources(checkpoint.buffers, checkpoint.buffer_values, "", sources);
    file = safetensors_preamble(sources, {});
    for (const TensorSource& source : sources)
      file.append(reinterpret_cast<const char*>(source.bytes.data()), source.bytes.size());
    content = parse_safetensors(bytes_of(file), "sample");
  }
  const Checkpoint checkpoint;
  std::string file;
  SafetensorsContent content;
};

}  // namespace

TEST_CASE("fuzz: a damaged safetensors file is refused, or its tensors lie in it") {
  const Verdicts verdicts = fuzz<CheckpointError>(TensorFiles(), decode_tensors);

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a damaged manifest, even a sealed one, is refused or names plain files") {
  const Verdicts verdicts = fuzz<CheckpointError>(Manifests(), decode_manifest_text);

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a damaged state is refused, or is one that could have been written") {
  const SampleWeights weights;

  const Verdicts verdicts = fuzz<CheckpointError>(
      Mutations(37, {encode_state(weights.checkpoint)}, kJsonFragments),
      [&](const std::string& text) {
        const Checkpoint state = decode_state(text, weights.content, "damaged");
        require_consistent(state == decode_state(encode_state(state), weights.content, "again"));
        for (const auto& [name, values] : state.optimizer.slots)
          require_consistent(!name.empty() && name.find('/') == std::string::npos &&
                             values.size() == state.parameters.flat_size());
      });

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("a state that nests without end is refused, not followed until the stack is gone") {
  const SampleWeights weights;
  std::string text = encode_state(weights.checkpoint);
  const std::string deep(1 << 20, '[');
  text.insert(text.find("\"history\":") + 10, deep);

  CHECK_THROWS_AS(decode_state(text, weights.content, "deep"), CheckpointError);
  CHECK_THROWS_AS(decode_state(deep + std::string(1 << 20, ']'), weights.content, "deep"),
                  CheckpointError);
}
