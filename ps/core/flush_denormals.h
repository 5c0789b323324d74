// Makes arithmetic treat denormal numbers as zero, as workers do. Denormal numbers can make it a
// hundred times slower, and appear in the momentum of weights that no longer change. A step must
// give the same bits in every process, so it sets this mode itself.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace scavenger::ps {

// Applies during its lifetime, on its thread.
class FlushDenormals final {
 public:
  FlushDenormals() : before_(get()) { set(before_ | kFlags); }
  ~FlushDenormals() { set(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  using Register = std::uint32_t;
  static constexpr Register kFlags = 0x8040;  // flush to zero, denormals are zero
  static Register get() { return _mm_getcsr(); }
  static void set(Register value) { _mm_setcsr(value); }
#elif defined(__aarch64__)
  using Register = std::uint64_t;
  static constexpr Register kFlags = std::uint64_t{1} << 24;
  static Register get() {
    Register value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void set(Register value) { asm volatile("msr fpcr, %0" ::"r"(value)); }
#else
  using Register = std::uint32_t;
  static constexpr Register kFlags = 0;
  static Register get() { return 0; }
  static void set(Register) {}
#endif

  const Register before_;
};

}  // namespace scavenger::ps
