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
constexpr double kLeastLeft = 30.0;
constexpr double kDigitWidth = 6.3;  // of the page's font
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
  // To a hundredth of the extent, so that nearly nothing is written as 0.
  std::string label(double number) const {
    const double unit = std::pow(10.0, std::floor(std::log10(length())) - 2.0);
    const double rounded = std::round(number / unit) * unit;
    return fmt::format("{:.3g}", rounded == 0.0 ? 0.0 : rounded);
  }
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
    if (x_.is_empty()) return;
    const std::size_t digits = std::max(y_.label(y_.least).size(), y_.label(y_.most).size());
    left_ = std::max(kLeastLeft, kMargin + kDigitWidth * static_cast<double>(digits));
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
    return left_ + (x - x_.least) / x_.length() * (kWidth - left_ - kMargin);
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
                                   left_, kMargin, floor, kWidth - kMargin);
    for (const double y : {y_.least, y_.most})
      text += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left_ - 4.0,
                          down(y) + 4.0, y_.label(y));
    for (const double x : {x_.least, x_.most})
      text += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{}</text>", across(x),
                          kHeight - 6.0, x == x_.least ? "start" : "end", x_.label(x));
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
  double left_ = kLeastLeft;  // of the axis, beside its labels
};

}  // namespace

std::string profile_svg(const Profile& profile) {
  return Drawing(profile).svg();
}

}  // namespace scavenger::campaign
