// One function object of several, for std::visit: Overloaded{[](int) {...}, [](double) {...}}.
#pragma once

namespace scavenger {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace scavenger
