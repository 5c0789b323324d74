// Inputs that are almost right: seeded damage to valid ones, and now and then plain noise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/random.h"

namespace scavenger {

class Mutations final {
 public:
  // `fragments`: what a parser of this format trips over, or knows.
  Mutations(std::uint64_t seed, std::vector<std::string> originals,
            std::vector<std::string> fragments = {})
      : random_(seed, "mutations"),
        originals_(std::move(originals)),
        fragments_(std::move(fragments)) {}

  RandomStream& random() { return random_; }
  const std::string& original() { return originals_[random_.below(originals_.size())]; }

  std::string next() {
    if (random_.below(20) == 0) return noise(random_.below(300));
    std::string input = original();
    for (std::uint64_t changes = random_.below(4) + 1; changes > 0; --changes) change(input);
    return input;
  }

  // One change of one kind, anywhere.
  void change(std::string& input) {
    const std::size_t at = random_.below(input.size() + 1);
    const std::size_t count = std::min<std::size_t>(random_.below(9), input.size() - at);
    switch (random_.below(10)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << random_.below(8)));
        return;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(random_.bits());
        return;
      case 2:
        if (at < input.size()) input[at] = static_cast<char>('0' + random_.below(10));
        return;
      case 3:
      case 4:
        return write_number(input, at);
      case 5:
        return input.resize(at);
      case 6:
        input.erase(at, count);
        return;
      case 7:
        input.insert(random_.below(input.size() + 1), input.substr(at, count));
        return;
      case 8:
        return splice(input, at);
      default:
        input.insert(at, fragments_.empty() ? noise(random_.below(9))
                                            : fragments_[random_.below(fragments_.size())]);
    }
  }

 private:
  std::string noise(std::size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_.bits());
    return bytes;
  }

  // A length, an index or a count, at the ends of its range, in either order of bytes.
  void write_number(std::string& input, std::size_t at) {
    const std::size_t size = std::size_t{1} << random_.below(4);
    if (at + size > input.size()) return;
    const std::uint64_t near[] = {0, 1, 0x7f, 0x80, input.size(), std::uint64_t{1} << 31, ~0ULL};
    const std::uint64_t number = near[random_.below(std::size(near))] + random_.below(3) - 1;
    std::memcpy(input.data() + at, &number, size);
    if (random_.below(2) == 0)
      std::reverse(input.begin() + static_cast<std::ptrdiff_t>(at),
                   input.begin() + static_cast<std::ptrdiff_t>(at + size));
  }

  // Goes on as another one does.
  void splice(std::string& input, std::size_t at) {
    const std::string& other = original();
    input.resize(at);
    input += other.substr(random_.below(other.size() + 1));
  }

  RandomStream random_;
  const std::vector<std::string> originals_;
  const std::vector<std::string> fragments_;
};

}  // namespace scavenger
