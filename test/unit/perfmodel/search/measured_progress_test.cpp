#include "perfmodel/search/measured_progress.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "runtime/base/random.h"

namespace scavenger::perfmodel {
namespace {

constexpr double kNoiseScale = 500.0;

// A job that trains with one batch after the other; epochs at B are law(B) B^d.
class Losses final {
 public:
  Losses(double power, double scatter, std::uint64_t seed)
      : power_(power), scatter_(scatter), stream_(seed, "losses") {}

  Losses& train(double batch, int points) {
    constexpr double kIterations = 50.0;
    for (int i = 0; i < points; ++i) {
      const double samples = kIterations * batch;
      progress_ += samples / ((1.0 + batch / kNoiseScale) * std::pow(batch / 64.0, power_));
      const double loss = 0.4 + 2.0 * std::pow(1.0 + progress_ / 1e5, -0.7);
      points_.push_back({batch, samples, loss + scatter_ * stream_.normal() / std::sqrt(samples)});
    }
    return *this;
  }
  const std::vector<LossPoint>& points() const { return points_; }

 private:
  double power_;
  double scatter_;
  RandomStream stream_;
  double progress_ = 0.0;
  std::vector<LossPoint> points_;
};

}  // namespace

TEST_CASE("Before there are two batches, what epochs depart from the noise's law by is the prior") {
  const MeasuredProgress nothing({}, kNoiseScale);
  CHECK(std::abs(nothing.mean()) < 0.05);
  CHECK(nothing.deviation() > 0.1);
  CHECK(nothing.expected(0.0) == Approx(1.0));
  CHECK(!nothing.error_after(1e6, 256));
  const MeasuredProgress one(Losses(0.5, 1.0, 1).train(64.0, 200).points(), kNoiseScale);
  CHECK(one.mean() == Approx(nothing.mean()));
  REQUIRE(one.error_after(1e5, 256));
  CHECK(*one.error_after(1e5, 256) > *one.error_after(4e5, 256));
}

TEST_CASE("Where the rate limits progress, or epochs fall with B, the loss tells") {
  for (const double power : {-0.5, 0.0, 0.45}) {
    Losses losses(power, 0.5, 7);
    losses.train(64.0, 100).train(256.0, 40).train(64.0, 60).train(256.0, 80);
    const MeasuredProgress measured(losses.points(), kNoiseScale);
    CAPTURE(power, measured.mean(), measured.deviation());
    CHECK(measured.mean() == Approx(power).margin(0.15));
    CHECK(measured.deviation() < 0.12);
    CHECK(measured.expected(std::log(4.0)) == Approx(std::pow(4.0, power)).epsilon(0.25));
  }
}

TEST_CASE("A loss that scatters too much, stands still or is no number tells nothing") {
  const MeasuredProgress prior({}, kNoiseScale);
  Losses wild(0.5, 2000.0, 3);
  wild.train(64.0, 50).train(256.0, 10).train(64.0, 20);
  const MeasuredProgress of_wild(wild.points(), kNoiseScale);
  CHECK(of_wild.deviation() > 0.5 * prior.deviation());
  std::vector<LossPoint> still(60, LossPoint{64.0, 640.0, 1.0});
  still.resize(90, LossPoint{128.0, 640.0, 1.0});
  const MeasuredProgress of_still(still, kNoiseScale);
  CHECK(of_still.deviation() == Approx(prior.deviation()).epsilon(0.5));
  for (LossPoint& point : still) point.loss = std::nan("");
  CHECK(MeasuredProgress(still, kNoiseScale).mean() == Approx(prior.mean()));
}

TEST_CASE("What a look will tell of the loss is known before it begins") {
  for (const double batch : {256.0, 2048.0}) {
    Losses losses(0.0, 0.5, 7);
    losses.train(64.0, 200);
    const auto before = MeasuredProgress(losses.points(), kNoiseScale).error_after(1e6, batch);
    losses.train(batch, 1);
    const auto begun = MeasuredProgress(losses.points(), kNoiseScale).error_after(1e6, batch);
    REQUIRE((before && begun));
    CAPTURE(batch, *before, *begun);
    CHECK(*begun / *before > 0.67);
    CHECK(*begun / *before < 1.5);
  }
}

TEST_CASE("A loss that rises leaves what is known as it was") {
  std::vector<LossPoint> rising;
  for (int i = 0; i < 100; ++i)
    rising.push_back({i % 20 < 10 ? 64.0 : 128.0, 640.0, 1.0 + 0.01 * i});
  const MeasuredProgress measured(rising, kNoiseScale);
  CHECK(std::isfinite(measured.mean()));
  CHECK(std::isfinite(measured.expected(2.0)));
}

}  // namespace scavenger::perfmodel
