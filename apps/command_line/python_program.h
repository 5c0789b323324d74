// Asks the Python of a model's file: one question, one answer.
#pragma once

#include <filesystem>
#include <string>

#include "runtime/process/command.h"

namespace scavenger {

// How long an answer may take, and when people are told what is waited for.
struct PythonPatience {
  double first_note_seconds = 10.0;
  double further_note_seconds = 60.0;  // from note to note
  // Python may read its modules from a slow disk, and a data set may index its files.
  double limit_seconds = 600.0;
};

struct PythonQuestion {
  std::string word;   // inspect, describe, export
  std::string input;  // on standard input
  // For people, if it takes long: "train.py has not come to its first batch yet".
  std::string delay;
};

// Runs the program `scavenger-python-worker WORD` of this folder. What the user's file prints comes
// first, and the answer is the last line. Warns in the log while it takes long.
CommandResult ask_python(const std::filesystem::path& program_folder, PythonQuestion question,
                         const PythonPatience& patience = {});

// What to do about a model's file that fails.
std::string try_by_hand(const std::filesystem::path& file);

// Prints what Python has said on standard error, and throws InputError with its last line.
[[noreturn]] void throw_python_failure(const CommandResult& result,
                                       const std::filesystem::path& file,
                                       const std::string& remedy);

}  // namespace scavenger
