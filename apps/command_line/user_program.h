// What the programs that people call have in common: how they end.
#pragma once

#include <functional>

namespace scavenger {

// Throws SystemError if what was written to std::cout could not be written, unless nobody is left
// who reads it.
void finish_standard_output();

// Runs `body` and gives its exit code. What it throws becomes one line on standard error that
// begins with the program's name, and an exit code: 2 for wrong input, 1 for all else.
int run_user_program(const char* name, const std::function<int()>& body);

}  // namespace scavenger
