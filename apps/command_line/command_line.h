// What the command lines of all programs have in common that people call.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/command_line/command_text.h"
#include "apps/command_line/user_program.h"

namespace scavenger {

// The words after the program's name, of what CLI::App::parse takes: also in reverse order.
inline std::vector<std::string> words_of_line(int argc, char** argv) {
  return {argv + 1, argv + argc};
}
inline std::vector<std::string> words_of_line(const std::vector<std::string>& reversed) {
  return {reversed.rbegin(), reversed.rend()};
}

// Nothing if the command line is right. Else the exit code, once what there is to say was said:
// 0 after --help and --version, 2 if the input is wrong. `words` is what CLI::App::parse takes.
template <typename... Words>
std::optional<int> parse_command_line(CLI::App& app, Words&&... words) {
  try {
    if (const auto text = generated_text(app, words_of_line(words...)))
      return run_user_program(app.get_name().c_str(), [&] {
        std::cout << *text;
        return 0;
      });
    app.parse(std::forward<Words>(words)...);
    return std::nullopt;
  } catch (const CLI::ParseError& answer) {
    if (answer.get_exit_code() == 0)
      return run_user_program(app.get_name().c_str(), [&] { return app.exit(answer); });
    std::cerr << told_by(app.get_name(), answer.what()) << "; see " << app.get_name()
              << " --help\n";
    return 2;
  }
}

// CLI11's own checks of numbers name the largest double if they refuse something.
inline CLI::Validator number_that(bool (*holds)(double), const std::string& wanted,
                                  const std::string& name) {
  const auto problem_of = [holds, wanted](std::string& word) {
    double number = 0.0;
    const bool is_right =
        CLI::detail::lexical_cast(word, number) && std::isfinite(number) && holds(number);
    return is_right ? std::string() : "\"" + word + "\" is no number " + wanted;
  };
  return {problem_of, name};
}
inline const CLI::Validator kPositive =
    number_that([](double number) { return number > 0.0; }, "above 0", "POSITIVE");
inline const CLI::Validator kNotNegative =
    number_that([](double number) { return number >= 0.0; }, "from 0 on", "NONNEGATIVE");

// An empty name is a mistake, such as a variable of a shell that is not set, and must not mean that
// the option was left out.
inline const CLI::Validator kNamed{[](std::string& word) {
                                     return word.empty() ? std::string("the name is empty")
                                                         : std::string();
                                   },
                                   ""};

}  // namespace scavenger
