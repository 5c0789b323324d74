// How long machines live that their provider may take away: the probability of reaching an age, and
// what follows from it for work on a machine of some age.
//
// Everything about a machine that is alive at age s is conditional on that: the chance to live on
// for t is S(s + t) / S(s), and what a loss destroys is the work since s, not the age.
#pragma once

#include <limits>
#include <memory>

namespace scavenger::perfmodel {

inline constexpr double kHourSeconds = 3600.0;
inline constexpr double kNeverSeconds = std::numeric_limits<double>::infinity();

// The distribution of a lifetime. Ages are seconds since the machine was ready. Immutable, so any
// thread may ask.
class Survival {
 public:
  virtual ~Survival() = default;

  // S(age): the share of machines that live longer. 1 at age 0, and never rising.
  virtual double survival(double age_seconds) const = 0;
  // The rate, per second, at which machines of this age are lost. Infinite if S(age) is 0.
  virtual double hazard(double age_seconds) const = 0;
  // The integral of S: the seconds that a new machine is expected to live between two ages. `to`
  // may be infinite.
  virtual double lived_seconds(double from_seconds, double to_seconds) const = 0;
  // The age at which every machine ends, if there is one that was announced: max_run_seconds, or
  // the 24 hours of a preemptible VM. Work can be planned around it. Infinite without.
  virtual double wall_seconds() const { return kNeverSeconds; }

  // Losses per second of life, those at a wall left out, since work is planned around it.
  virtual double mean_hazard() const { return 1.0 / mean_life_seconds(); }

  double mean_life_seconds() const { return lived_seconds(0.0, kNeverSeconds); }

 protected:
  Survival() = default;
  Survival(const Survival&) = default;
  Survival& operator=(const Survival&) = default;
};

// P(life > age + seconds | life > age). 0 if S(age) is 0.
double chance_to_live(const Survival& survival, double age_seconds, double seconds);

// The expected seconds that a machine of this age lives within the next `seconds`.
double expected_life_seconds(const Survival& survival, double age_seconds, double seconds);

// The expected work that is lost if `seconds` of work begin on a machine of this age and nothing is
// kept of it before its end: int_0^seconds u f(age + u) du / S(age).
double expected_loss_seconds(const Survival& survival, double age_seconds, double seconds);

// A lifetime that was drawn: the age at which S has fallen to S(age) (1 - uniform), for a machine
// that has reached `age`. Requires 0 <= uniform < 1.
double drawn_life_seconds(const Survival& survival, double age_seconds, double uniform);

// The same machines with a wall: none lives longer than `wall_seconds`.
std::shared_ptr<const Survival> with_wall(std::shared_ptr<const Survival> survival,
                                          double wall_seconds);

}  // namespace scavenger::perfmodel
