// The one check of a bearer token ("Authorization: Bearer TOKEN").
#pragma once

#include <string_view>

namespace scavenger {

// Takes the same time whatever part of the token is right.
bool is_token(std::string_view text, std::string_view token);

// `authorization`: the header's value; empty if there is none.
bool brings_bearer_token(std::string_view authorization, std::string_view token);

}  // namespace scavenger
