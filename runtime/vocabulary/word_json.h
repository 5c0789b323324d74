// Words in JSON and MessagePack: each is its name.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/base/error.h"
#include "runtime/vocabulary/word.h"

namespace scavenger {

// "train or test": for who gave another one.
template <Word W>
std::string choices_of() {
  std::string text;
  const auto& table = table_of(W{});
  for (std::size_t i = 0; i < table.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == table.size() ? " or " : ", ", table[i].name);
  return text;
}

}  // namespace scavenger

template <scavenger::Word W>
struct nlohmann::adl_serializer<W> {
  template <typename Json>
  static void to_json(Json& json, W word) {
    json = std::string(name_of(word));
  }
  // Throws InputError for a name that the word does not have.
  template <typename Json>
  static void from_json(const Json& json, W& word) {
    const auto& name = json.template get_ref<const std::string&>();
    const auto found = scavenger::find_word<W>(name);
    if (!found)
      throw scavenger::InputError({.what = fmt::format("there is no '{}' here", name),
                                   .where = {},
                                   .remedy = "use " + scavenger::choices_of<W>()});
    word = *found;
  }
};
