// How every decoder is fuzzed: whatever comes, it is refused with an exception of the project, or
// what is made of it is consistent; nothing is allocated beyond a small multiple of the input.
//
// SCAVENGER_FUZZ_INPUTS says how many inputs each decoder gets (docs/building.md).
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>

#include "runtime/base/error.h"
#include "test/fuzz/allocation.h"
#include "test/fuzz/mutations.h"

namespace scavenger {

inline int fuzz_inputs() {
  const char* text = std::getenv("SCAVENGER_FUZZ_INPUTS");
  return text != nullptr ? std::atoi(text) : 2000;
}

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// What a decoder may allocate for an input.
struct AllocationLimit {
  std::uint64_t bytes = 1 << 16;
  std::uint64_t bytes_per_byte = 500;  // a JSON value of one character takes 50 to 100
};

struct Verdicts {
  int accepted = 0;
  int refused = 0;
};

// Thrown by a `decode` that finds what it was given inconsistent.
class Inconsistent final : public std::exception {
 public:
  const char* what() const noexcept override { return "it was accepted, and is not consistent"; }
};

inline void require_consistent(bool holds) {
  if (!holds) throw Inconsistent();
}

inline std::string shown(const std::string& input) {
  std::string text;
  for (const char byte : input.substr(0, 4000)) {
    const auto code = static_cast<unsigned char>(byte);
    if (code >= ' ' && code < 0x7f && byte != '\\')
      text += byte;
    else
      text += "\\x" + std::string(1, "0123456789abcdef"[code / 16]) +
              std::string(1, "0123456789abcdef"[code % 16]);
  }
  return text;
}

// One input: true where it was accepted. `Refusal`: what the decoder documents.
template <typename Refusal, typename Decode>
bool judge(const std::string& input, const Decode& decode, const AllocationLimit& limit = {}) {
  std::string fault;
  bool accepted = false;
  const AllocationMeter meter;
  try {
    decode(input);
    accepted = true;
  } catch (const Refusal&) {
  } catch (const std::exception& other) {
    fault = other.what();
  }
  const std::uint64_t allocated = meter.bytes();
  if (allocated > limit.bytes + limit.bytes_per_byte * input.size())
    fault += " allocated " + std::to_string(allocated) + " bytes";
  if (!fault.empty()) FAIL(fault << ", for " << input.size() << " bytes: " << shown(input));
  return accepted;
}

template <typename Refusal, typename Next, typename Decode>
Verdicts fuzz(Next next, const Decode& decode, const AllocationLimit& limit = {}) {
  Verdicts verdicts;
  for (int i = fuzz_inputs(); i > 0; --i)
    judge<Refusal>(next(), decode, limit) ? ++verdicts.accepted : ++verdicts.refused;
  WARN("accepted " << verdicts.accepted << ", refused " << verdicts.refused);
  CHECK(verdicts.refused > verdicts.accepted / 100);  // the damage is damage
  return verdicts;
}

template <typename Refusal, typename Decode>
Verdicts fuzz(Mutations mutations, const Decode& decode, const AllocationLimit& limit = {}) {
  return fuzz<Refusal>([&] { return mutations.next(); }, decode, limit);
}

}  // namespace scavenger
