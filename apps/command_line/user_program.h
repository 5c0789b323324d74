// What the programs that people call have in common: how they end.
#pragma once

#include <functional>
#include <string>

namespace scavenger {

// Throws SystemError if what was written to std::cout could not be written, unless nobody is left
// who reads it.
void finish_standard_output();

// A message that begins with the program's name, once: a place in a message may be "scavenger-plan
// vms".
std::string told_by(const std::string& name, const std::string& text);

// Runs `body` and gives its exit code. What it throws becomes one line on standard error that
// begins with the program's name, and an exit code: 2 for wrong input, 1 for all else.
int run_user_program(const char* name, const std::function<int()>& body);

}  // namespace scavenger
