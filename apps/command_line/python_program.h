// Asks the Python of a model's file: one question, one answer.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/process/command.h"

namespace scavenger {

// Runs the program `scavenger-python-worker WORD` of this folder, with `input` as its standard
// input. What the user's file prints comes first, and the answer is the last line.
CommandResult ask_python(const std::filesystem::path& program_folder, const std::string& word,
                         std::string input);

// What to do about a model's file that fails.
inline constexpr const char* kPythonRemedy =
    "try it by hand: python3 -c \"import scavenger; scavenger.check('FILE')\"";

// Prints what Python has said on standard error, and throws InputError with its last line.
[[noreturn]] void throw_python_failure(const CommandResult& result,
                                       const std::filesystem::path& file,
                                       const std::string& remedy = kPythonRemedy);

}  // namespace scavenger
