// Variants whose alternatives carry their own names, `static constexpr std::string_view kName`, by
// which documents and messages tell them apart. So the order of a variant says nothing to anybody.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <variant>

namespace scavenger {

template <typename... Alternatives>
constexpr std::array<std::string_view, sizeof...(Alternatives)> names_of_alternatives(
    std::type_identity<std::variant<Alternatives...>>) {
  return {Alternatives::kName...};
}

// The names, in the order of the variant.
template <typename Variant>
inline constexpr auto kNamesOf = names_of_alternatives(std::type_identity<Variant>());

// For a static_assert beside the variant.
template <typename Variant>
constexpr bool have_different_names() {
  const auto& names = kNamesOf<Variant>;
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (names[i] == names[j]) return false;
  return true;
}

template <typename... Alternatives>
std::string_view name_of_alternative(const std::variant<Alternatives...>& variant) {
  return std::visit([](const auto& alternative) { return alternative.kName; }, variant);
}

// Calls `take(std::type_identity<Alternative>())` for the alternative of that name. Returns false
// if there is none.
template <typename... Alternatives, typename Take>
bool with_alternative(std::string_view name, std::type_identity<std::variant<Alternatives...>>,
                      Take take) {
  return (
      (name == Alternatives::kName ? (take(std::type_identity<Alternatives>()), true) : false) ||
      ...);
}

}  // namespace scavenger
