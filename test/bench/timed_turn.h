// A process's part in a benchmark of synchronisation: on the command "run N" it does something N
// times, all ranks beginning together, and answers with the times, as crew.py wants it.
#pragma once

#include <cstdint>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "test/bench/start_line.h"

namespace scavenger::bench {

// prepare(i) is not measured, once(i) is; i counts all turns. Returns when there are no more
// commands.
template <typename Prepare, typename Once>
void serve_turns(StartLine& start_line, const Prepare& prepare, const Once& once) {
  const SteadyClock clock;
  std::uint64_t i = 0;
  std::string command;
  for (std::size_t count = 0; std::cin >> command >> count;) {
    std::vector<double> begin, end;
    for (std::size_t n = 0; n < count; ++n, ++i) {
      prepare(i);
      start_line.wait();
      begin.push_back(clock.now_seconds());
      once(i);
      end.push_back(clock.now_seconds());
    }
    const auto print = [](const std::vector<double>& values) {
      for (std::size_t n = 0; n < values.size(); ++n)
        std::cout << (n > 0 ? ", " : "[") << std::fixed << std::setprecision(9) << values[n];
      std::cout << "]";
    };
    std::cout << "{\"begin\": ";
    print(begin);
    std::cout << ", \"end\": ";
    print(end);
    std::cout << "}" << std::endl;
  }
}

}  // namespace scavenger::bench
