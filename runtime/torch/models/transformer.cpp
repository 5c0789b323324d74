#include "runtime/torch/models/transformer.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/torch/layers/beam_search.h"
#include "runtime/torch/layers/initial_values.h"
#include "runtime/torch/layers/transformer_layers.h"

namespace scavenger {
namespace {

constexpr std::int64_t kMostMoreWords = 50;  // more words than the source has: sec. 6.1

class Transformer final : public Model {
 public:
  Transformer(const TransformerConfig& config, const DataShape& data)
      : config_(config),
        embeddings_(*this, config, data),
        dropout_source_(*this, config.dropout),
        dropout_target_(*this, config.dropout) {
    const TransformerShape shape = shape_of(config);
    for (std::int64_t i = 0; i < config.encoder_layers; ++i)
      encoder_.emplace_back(*this, "transformer.encoder.layers." + std::to_string(i), shape);
    encoder_norm_.emplace(*this, "transformer.encoder.norm", config.width);
    for (std::int64_t i = 0; i < config.decoder_layers; ++i)
      decoder_.emplace_back(*this, "transformer.decoder.layers." + std::to_string(i), shape);
    decoder_norm_.emplace(*this, "transformer.decoder.norm", config.width);
    embeddings_.add_output(*this, config, data);
  }

  at::Tensor forward(const ModelInput& input) override {
    const at::Tensor mask = mask_of(input.samples);
    const at::Tensor encoded = encode(input.samples, mask);
    const at::Tensor words = input.targets.narrow(1, 0, input.targets.size(1) - 1);
    at::Tensor x = dropout_target_(embed(words, embeddings_.target, 0));
    for (const DecoderLayer& layer : decoder_) x = layer(x, encoded, mask);
    x = (*decoder_norm_)(x).view({-1, config_.width}).index_select(0, input.predicted);
    return at::linear(x, embeddings_.output.tensor);
  }

  std::vector<TokenSequence> write_sequences(const at::Tensor& samples,
                                             std::int64_t beam_width) override {
    at::Tensor mask = mask_of(samples);
    const at::Tensor encoded = encode(samples, mask);
    std::vector<DecoderLayer::Memory> memories;
    for (const DecoderLayer& layer : decoder_) memories.push_back(layer.remember(encoded));

    BeamSearch search;
    search.width = beam_width;
    const at::Tensor lengths = samples.ne(kPaddingToken).sum(1).cpu();
    for (std::int64_t i = 0; i < samples.size(0); ++i)
      search.most_words.push_back(lengths[i].item<std::int64_t>() + kMostMoreWords);
    std::int64_t position = 0;
    return search_sequences(search, [&](const at::Tensor& words, const at::Tensor& parents) {
      select(parents.to(samples.device()), mask, memories);
      at::Tensor x = embed(words.to(samples.device()).unsqueeze(1), embeddings_.target, position++);
      for (std::size_t i = 0; i < decoder_.size(); ++i) x = decoder_[i].go_on(x, memories[i], mask);
      return at::log_softmax(at::linear((*decoder_norm_)(x).squeeze(1), embeddings_.output.tensor),
                             -1);
    });
  }

 private:
  // The embeddings may be one, two or three different tensors.
  struct Embeddings {
    Embeddings(Model& model, const TransformerConfig& config, const DataShape& data) {
      const bool one = config.shared_embeddings == SharedEmbeddings::kAll;
      source = add(model, one ? "embedding.weight" : "source_embedding.weight", data.vocabulary,
                   config.width);
      target = one ? source : add(model, "target_embedding.weight", data.classes, config.width);
      output = target;
    }
    void add_output(Model& model, const TransformerConfig& config, const DataShape& data) {
      if (config.shared_embeddings == SharedEmbeddings::kNone)
        output = add(model, "output.weight", data.classes, config.width);
    }
    static Parameter add(Model& model, const char* name, std::int64_t words, std::int64_t width) {
      return model.add_parameter(name, {words, width},
                                 normal(1.0 / std::sqrt(static_cast<double>(width))));
    }
    Parameter source;
    Parameter target;
    Parameter output;
  };

  static TransformerShape shape_of(const TransformerConfig& config) {
    TransformerShape shape;
    shape.width = config.width;
    shape.heads = config.heads;
    shape.inner = config.inner;
    shape.dropout = config.dropout;
    shape.normalise_first = config.normalise_first;
    return shape;
  }

  // Returns {b, 1, 1, length}: true at the words of the source.
  static at::Tensor mask_of(const at::Tensor& source) {
    return source.ne(kPaddingToken).unsqueeze(1).unsqueeze(1);
  }

  // Keeps the candidates that are continued. In most steps no row changes.
  static void select(const at::Tensor& parents, at::Tensor& mask,
                     std::vector<DecoderLayer::Memory>& memories) {
    const at::Tensor same = at::arange(mask.size(0), parents.options());
    if (parents.equal(same)) return;
    const auto pick = [&parents](at::Tensor& tensor) {
      if (tensor.defined()) tensor = tensor.index_select(0, parents);
    };
    pick(mask);
    for (DecoderLayer::Memory& memory : memories)
      for (KeysAndValues* part : {&memory.source, &memory.past}) {
        pick(part->keys);
        pick(part->values);
      }
  }

  // words {b, t}, at positions from `first` on -> {b, t, width}
  at::Tensor embed(const at::Tensor& words, const Parameter& embedding, std::int64_t first) {
    const std::int64_t last = first + words.size(1);
    if (!positions_.defined() || positions_.size(1) < last)
      positions_ = sinusoids(2 * last, config_.width).to(words.device());
    return at::embedding(embedding.tensor, words)
        .mul(std::sqrt(static_cast<double>(config_.width)))
        .add(positions_.narrow(1, first, words.size(1)));
  }

  at::Tensor encode(const at::Tensor& source, const at::Tensor& mask) {
    at::Tensor x = dropout_source_(embed(source, embeddings_.source, 0));
    for (const EncoderLayer& layer : encoder_) x = layer(x, mask, false);
    return (*encoder_norm_)(x);
  }

  TransformerConfig config_;
  Embeddings embeddings_;
  DropoutLayer dropout_source_;
  DropoutLayer dropout_target_;
  std::vector<EncoderLayer> encoder_;
  std::optional<LayerNormLayer> encoder_norm_;
  std::vector<DecoderLayer> decoder_;
  std::optional<LayerNormLayer> decoder_norm_;
  at::Tensor positions_;
};

}  // namespace

std::unique_ptr<Model> make_transformer(const ModelConfig& config, const DataShape& data) {
  if (data.vocabulary == 0 || data.target != TargetKind::kSequence)
    throw ConfigError({.what = "a transformer needs pairs of sentences",
                       .where = "model.type",
                       .remedy = "use data of format parallel_text, or another model"});
  if (config.transformer.shared_embeddings == SharedEmbeddings::kAll &&
      data.vocabulary != data.classes)
    throw ConfigError({.what = "one embedding cannot serve two vocabularies, of " +
                               std::to_string(data.vocabulary) + " and " +
                               std::to_string(data.classes) + " words",
                       .where = "model.shared_embeddings",
                       .remedy = "share only \"target\", or use one vocabulary for both"});
  return std::make_unique<Transformer>(config.transformer, data);
}

}  // namespace scavenger
