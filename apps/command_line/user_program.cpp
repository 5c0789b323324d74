#include "apps/command_line/user_program.h"

#include <exception>
#include <iostream>

#include "runtime/base/error.h"

namespace scavenger {

int run_user_program(const char* name, const std::function<int()>& body) {
  try {
    return body();
  } catch (const InputError& error) {
    std::cerr << name << ": " << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << "\n";
    return 1;
  }
}

}  // namespace scavenger
