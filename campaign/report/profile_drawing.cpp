#include "campaign/report/profile_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace scavenger::campaign {
namespace {

constexpr double kWidth = 300.0;
constexpr double kHeight = 170.0;
constexpr double kLeft = 44.0;
constexpr double kBottom = 22.0;
constexpr double kMargin = 8.0;

struct Extent {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void include(double number) {
    if (!std::isfinite(number)) return;
    least = std::min(least, number);
    most = std::max(most, number);
  }
  bool is_empty() const { return !(least <= most); }
  double length() const { return most > least ? most - least : 1.0; }
};

class Drawing {
 public:
  explicit Drawing(const Profile& profile) : profile_(profile) {
    for (const double x : profile.x) x_.include(x);
    y_.include(0.0);
    for (std::size_t curve = 0; curve < profile.y.size(); ++curve)
      for (std::size_t i = 0; i < profile.x.size(); ++i) {
        y_.include(profile.y[curve][i] + error(curve, i));
        y_.include(profile.y[curve][i] - error(curve, i));
      }
  }

  std::string svg() const {
    if (x_.is_empty()) return "<p>no numbers</p>";
    std::string text = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">", kWidth, kHeight);
    text += axes();
    for (std::size_t curve = 0; curve < profile_.y.size(); ++curve)
      text += band(curve) + line(curve);
    return text + "</svg>";
  }

 private:
  double error(std::size_t curve, std::size_t i) const {
    if (profile_.errors.empty()) return 0.0;
    const double error = profile_.errors[curve][i];
    return std::isfinite(error) ? error : 0.0;
  }
  double across(double x) const {
    return kLeft + (x - x_.least) / x_.length() * (kWidth - kLeft - kMargin);
  }
  double down(double y) const {
    return kHeight - kBottom - (y - y_.least) / y_.length() * (kHeight - kBottom - kMargin);
  }
  static std::string colour(std::size_t curve) {
    return kCurveColours[curve % std::size(kCurveColours)];
  }
  std::string place(double x, double y) const {
    return fmt::format("{:.1f},{:.1f} ", across(x), down(y));
  }

  std::string axes() const {
    const double floor = kHeight - kBottom;
    std::string text = fmt::format("<path d=\"M{0},{1}V{2}H{3}\" fill=\"none\" stroke=\"#888\"/>",
                                   kLeft, kMargin, floor, kWidth - kMargin);
    for (const double y : {y_.least, y_.most})
      text += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.3g}</text>",
                          kLeft - 4.0, down(y) + 4.0, y);
    for (const double x : {x_.least, x_.most})
      text += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.3g}</text>",
                          across(x), kHeight - 6.0, x);
    return text;
  }

  std::string line(std::size_t curve) const {
    std::string points;
    for (std::size_t i = 0; i < profile_.x.size(); ++i)
      if (std::isfinite(profile_.y[curve][i])) points += place(profile_.x[i], profile_.y[curve][i]);
    return fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>",
                       points, colour(curve));
  }

  std::string band(std::size_t curve) const {
    if (profile_.errors.empty()) return {};
    std::string there;
    std::string back;
    for (std::size_t i = 0; i < profile_.x.size(); ++i) {
      const double y = profile_.y[curve][i];
      if (!std::isfinite(y)) continue;
      there += place(profile_.x[i], y + error(curve, i));
      back = place(profile_.x[i], y - error(curve, i)) + back;
    }
    return fmt::format("<polygon points=\"{}{}\" fill=\"{}\" fill-opacity=\"0.2\"/>", there, back,
                       colour(curve));
  }

  const Profile& profile_;
  Extent x_;
  Extent y_;
};

}  // namespace

std::string profile_svg(const Profile& profile) {
  return Drawing(profile).svg();
}

}  // namespace scavenger::campaign
