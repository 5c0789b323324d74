// A word of the project's vocabulary is an enumeration with one table: for each enumerator its name
// in documents, logs and messages. Beside the enumeration stands
//
//   constexpr const auto& table_of(Fruit) { return kFruits; }
//
// where the entries of kFruits have `word` and `name` (or are Named<Fruit>), in the order of the
// enumeration. Everything that names or reads the word follows from that table. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

#include "runtime/base/check.h"

namespace scavenger {

template <typename Enumeration>
struct Named {
  Enumeration word;
  std::string_view name;
};

template <typename T>
concept Word = std::is_enum_v<T> && requires { table_of(T{}); };

// The table's entry, with all that it says of the word.
template <Word W>
constexpr const auto& entry_of(W word) {
  const auto& table = table_of(word);
  const auto index = static_cast<std::size_t>(word);
  SCAVENGER_CHECK(index < table.size());
  return table[index];
}

template <Word W>
constexpr std::string_view name_of(W word) {
  return entry_of(word).name;
}

// Returns nothing for a name that the table does not have.
template <Word W>
constexpr std::optional<W> find_word(std::string_view name) {
  for (const auto& entry : table_of(W{}))
    if (entry.name == name) return entry.word;
  return std::nullopt;
}

// For a static_assert beside the table: the order is that of the enumeration, which ends with
// `last`, and no two names are the same.
template <typename Table, typename Enumeration>
constexpr bool is_complete(const Table& table, Enumeration last) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].word != static_cast<Enumeration>(i)) return false;
    for (std::size_t j = 0; j < i; ++j)
      if (table[i].name == table[j].name) return false;
  }
  return table.size() == static_cast<std::size_t>(last) + 1;
}

}  // namespace scavenger
