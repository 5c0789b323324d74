#include "elastic/plan/host_type.h"

#include <fmt/format.h>

#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

constexpr std::string_view kBetween = " x ";

}  // namespace

std::string host_type(const fact::Host& host) {
  return fmt::format("{}{}{}", host.cores, kBetween, host.cpu);
}

std::optional<double> cores_of_host_type(std::string_view type) {
  const std::size_t end = type.find(kBetween);
  return end == std::string_view::npos ? std::nullopt : positive_number(type.substr(0, end));
}

}  // namespace scavenger::elastic
