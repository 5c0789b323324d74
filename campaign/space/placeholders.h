// Replaces names in braces in the words of a command, and in double braces in files. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace scavenger::campaign {

// Values by name: the parameters, "seed", and for commands "from", "until" and "steps".
using Substitutions = std::map<std::string, std::string>;

// Letters, digits and "_", not beginning with a digit.
bool is_parameter_name(std::string_view name);
bool is_reserved_name(std::string_view name);

// The names in braces in a command's word, in order. "{{" and "}}" are braces. A single brace that
// belongs to no name, as in "{print $1}", is text.
std::vector<std::string> placeholders_in(std::string_view word);

// "{Z}" becomes the value of Z, "{{" a brace. Requires a value for each name.
std::string fill_word(std::string_view word, const Substitutions& values);

// "{{Z}}" becomes the value of Z. Everything else stays as it is, unknown names included.
std::string fill_template(std::string_view text, const Substitutions& values);

}  // namespace scavenger::campaign
