#include "runtime/checkpoint/checkpoint_state.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/json_error.h"
#include "runtime/base/json_text.h"
#include "runtime/checkpoint/checkpoint_manifest.h"
#include "runtime/checkpoint/whole_number.h"

namespace scavenger {
namespace {

constexpr int kDepthLimit = 64;         // levels of the document, since copying it recurses
constexpr std::size_t kMostSlots = 16;  // each has the length of the weights

nlohmann::json names_of(const TensorLayout& layout) {
  nlohmann::json names = nlohmann::json::array();
  for (const TensorPlace& tensor : layout.tensors()) names.push_back(tensor.name);
  return names;
}

// Returns the tensors of weights.safetensors by name, each once.
class TensorsByName final {
 public:
  TensorsByName(const SafetensorsContent& weights, const std::string& where) : where_(where) {
    for (const TensorEntry& tensor : weights.tensors) left_.emplace(tensor.name, &tensor);
  }

  TensorLayout take(const nlohmann::json& names) {
    TensorLayout layout;
    for (const nlohmann::json& json : names) {
      const auto name = json.get<std::string>();
      const auto found = left_.find(name);
      if (found == left_.end()) {
        throw_damaged(where_, "names the tensor " + name + ", which weights.safetensors lacks");
      }
      const auto& shape = found->second->shape;
      if (std::ranges::any_of(shape, [](std::int64_t dimension) { return dimension <= 0; })) {
        throw_damaged(where_, "names the tensor " + name + ", which has no elements");
      }
      layout.add(name, shape);
      left_.erase(found);
    }
    return layout;
  }

  void require_none_left() const {
    if (left_.empty()) return;
    throw_damaged(where_, "does not name the tensor " + std::string(left_.begin()->first) +
                              " of weights.safetensors");
  }

 private:
  const std::string& where_;
  std::unordered_map<std::string_view, const TensorEntry*> left_;
};

Checkpoint checkpoint_from(const nlohmann::json& json, const SafetensorsContent& weights,
                           const std::string& where) {
  Checkpoint checkpoint;
  checkpoint.iteration = whole_number<std::uint64_t>(json.at("iteration"), where);
  checkpoint.position = whole_number<std::uint64_t>(json.at("position"), where);
  checkpoint.membership_epoch = whole_number<std::uint64_t>(json.at("membership_epoch"), where);
  checkpoint.seed = whole_number<std::uint64_t>(json.at("seed"), where);
  checkpoint.config = json.at("config");
  checkpoint.config_digest = json.at("config_digest").get<std::string>();
  checkpoint.history = json.at("history");
  checkpoint.vocabulary = json.value("vocabulary", "");
  checkpoint.target_vocabulary = json.value("target_vocabulary", "");
  checkpoint.scavenger_version = json.at("scavenger").at("version").get<std::string>();
  checkpoint.scavenger_commit = json.at("scavenger").at("commit").get<std::string>();

  TensorsByName tensors(weights, where);
  checkpoint.parameters = tensors.take(json.at("parameters"));
  checkpoint.buffers = tensors.take(json.at("buffers"));
  tensors.require_none_left();
  checkpoint.weights.assign(checkpoint.parameters.flat_size(), 0.0F);  // gaps stay zero
  checkpoint.buffer_values.resize(checkpoint.buffers.flat_size());

  const nlohmann::json& optimizer = json.at("optimizer");
  checkpoint.optimizer.step_count = whole_number<std::uint64_t>(optimizer.at("step_count"), where);
  if (optimizer.at("slots").size() > kMostSlots)
    throw_damaged(where, "names more vectors of optimizer state than an optimizer has");
  for (const nlohmann::json& slot : optimizer.at("slots")) {
    const auto name = slot.get<std::string>();
    if (name.empty() || name.find('/') != std::string::npos)
      throw_damaged(where, "names a vector of optimizer state that cannot be in a file");
    checkpoint.optimizer.slots[name].assign(checkpoint.parameters.flat_size(), 0.0F);
  }
  return checkpoint;
}

// Throws before parsing if the document is nested too deeply.
nlohmann::json parse(const std::string& text, const std::string& where) {
  if (json_nests_deeper(text, kDepthLimit)) throw_damaged(where, "is nested too deeply");
  return parse_json(text);
}

}  // namespace

std::string encode_state(const Checkpoint& checkpoint) {
  nlohmann::json slots = nlohmann::json::array();
  for (const auto& [name, values] : checkpoint.optimizer.slots) slots.push_back(name);
  nlohmann::json json = {
      {"iteration", checkpoint.iteration},
      {"position", checkpoint.position},
      {"membership_epoch", checkpoint.membership_epoch},
      {"seed", checkpoint.seed},
      {"config", checkpoint.config},
      {"config_digest", checkpoint.config_digest},
      {"parameters", names_of(checkpoint.parameters)},
      {"buffers", names_of(checkpoint.buffers)},
      {"optimizer", {{"step_count", checkpoint.optimizer.step_count}, {"slots", slots}}},
      {"history", checkpoint.history},
      {"scavenger",
       {{"version", checkpoint.scavenger_version}, {"commit", checkpoint.scavenger_commit}}}};
  if (!checkpoint.vocabulary.empty()) {
    json["vocabulary"] = checkpoint.vocabulary;
    json["target_vocabulary"] = checkpoint.target_vocabulary;
  }
  return json_text(json) + "\n";
}

Checkpoint decode_state(const std::string& text, const SafetensorsContent& weights,
                        const std::string& where) {
  try {
    return checkpoint_from(parse(text, where), weights, where);
  } catch (const nlohmann::json::exception& error) {
    throw_damaged(where, "is not as the format asks: " + describe(error));
  }
}

}  // namespace scavenger
