// Numbers as command lines name them: "1-8" or "64,128,256".
#pragma once

#include <string>
#include <vector>

namespace scavenger::elastic {

// Throws InputError that names the option.
std::vector<double> parse_numbers(const std::string& text, const char* option);

}  // namespace scavenger::elastic
