// One object with several call operators, for std::visit: `Overloads{[](const A&) {...}, ...}`.
#pragma once

namespace scavenger {

template <typename... Callables>
struct Overloads : Callables... {
  using Callables::operator()...;
};

template <typename... Callables>
Overloads(Callables...) -> Overloads<Callables...>;

}  // namespace scavenger
