// What the command lines of all programs have in common that people call.
#pragma once

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

namespace scavenger {

// Nothing where the command line is right. Else the exit code, once what there is to say was said:
// 0 after --help and --version, 2 where the input is wrong. `words` is what CLI::App::parse takes.
template <typename... Words>
std::optional<int> parse_command_line(CLI::App& app, Words&&... words) {
  try {
    app.parse(std::forward<Words>(words)...);
    return std::nullopt;
  } catch (const CLI::ParseError& answer) {
    if (answer.get_exit_code() == 0) return app.exit(answer);
    std::cerr << app.get_name() << ": " << answer.what() << "; see " << app.get_name()
              << " --help\n";
    return 2;
  }
}

// CLI::PositiveNumber names the largest double where it refuses something.
inline const CLI::Validator kPositive(
    [](std::string& word) {
      double number = 0.0;
      const bool is_positive = CLI::detail::lexical_cast(word, number) && number > 0.0;
      return is_positive ? std::string() : "\"" + word + "\" is no number above 0";
    },
    "POSITIVE");

}  // namespace scavenger
