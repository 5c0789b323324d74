#include "runtime/http/bearer.h"

#include <cstddef>
#include <span>

#include "runtime/base/digest.h"

namespace scavenger {

bool is_token(std::string_view text, std::string_view token) {
  return text.size() == token.size() &&
         equal_in_constant_time(std::as_bytes(std::span(text)), std::as_bytes(std::span(token)));
}

bool brings_bearer_token(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kBearer = "Bearer ";
  return authorization.starts_with(kBearer) &&
         is_token(authorization.substr(kBearer.size()), token);
}

}  // namespace scavenger
