#include "runtime/base/json_error.h"

#include <string_view>

namespace scavenger {
namespace {

constexpr int kNoSuchKey = 403;

// Returns the quoted key: `config` for "[json.exception.out_of_range.403] key 'config' not found".
std::string quoted_name(std::string_view text) {
  const std::size_t first = text.find('\'');
  const std::size_t last = text.rfind('\'');
  return first < last ? std::string(text.substr(first + 1, last - first - 1)) : std::string();
}

}  // namespace

std::string describe(const nlohmann::json::exception& error) {
  if (const auto* broken = dynamic_cast<const nlohmann::json::parse_error*>(&error))
    return "it is not JSON from byte " + std::to_string(broken->byte) + " on";
  if (error.id == kNoSuchKey) return "it lacks the key \"" + quoted_name(error.what()) + "\"";
  if (dynamic_cast<const nlohmann::json::type_error*>(&error) != nullptr)
    return "a value is of another kind than belongs there";
  return "a value is missing, or out of its range";
}

}  // namespace scavenger
