// SPDX-License-Identifier: MIT
#include "report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace probust::report {
namespace {

constexpr double kLargest = 1e300;  // differences between numbers up to this are finite

// The smallest step of the form 1, 2 or 5 times a power of ten that fits into the span at most `most` times.
double nice_step(double span, int most) {
  const double least = span / most, power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> multiples(double step, double low, double high) {
  std::vector<double> values;
  const double first = std::ceil(low / step - 1e-6), last = std::floor(high / step + 1e-6);
  for (double k = first; k <= last && values.size() < 100; ++k) values.push_back(k * step);
  return values;
}

// Ticks at 1, 2 and 5 times powers of ten. If these are too many, ticks only at powers of ten, or at every k-th power.
std::vector<double> logarithmic_ticks(double low, double high, int most) {
  const double decades = std::log10(high / low);
  const int every = std::max(1, static_cast<int>(std::ceil(decades / most)));
  const bool fine = decades * 3 <= most + 1;
  std::vector<double> values;
  for (double power = std::floor(std::log10(low)); power <= std::log10(high); ++power) {
    if (std::fmod(power, every) != 0) continue;
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10.0, power);
      if ((fine || factor == 1) && value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) values.push_back(value);
    }
  }
  return values.size() > 1 ? values : multiples(nice_step(high - low, most), low, high);
}

// A ruler whose ends are those that the axis sets or, if it sets none, those of the values. The two ends never coincide.
Ruler of_values(const Axis& axis, std::vector<double> values) {
  std::erase_if(values, [&](double value) { return !shown(axis, value); });
  Ruler range{.logarithmic = axis.logarithmic};
  if (axis.logarithmic) range.low = 0.1;
  if (!values.empty()) {
    const auto [least, largest] = std::minmax_element(values.begin(), values.end());
    range.low = *least;
    range.high = *largest;
  }
  if (axis.low && shown(axis, *axis.low)) range.low = *axis.low;
  if (axis.high && shown(axis, *axis.high)) range.high = *axis.high;
  if (range.high - range.low > 1e-12 * std::max(std::fabs(range.low), std::fabs(range.high))) return range;
  const double middle = range.low, reach = middle == 0 ? 0.5 : 0.1 * std::fabs(middle);
  range.low = axis.logarithmic ? middle / 1.5 : middle - reach;
  range.high = axis.logarithmic ? middle * 1.5 : middle + reach;
  return range;
}

void add_margins(Ruler& range, const Axis& axis) {
  constexpr double kMargin = 0.03;
  const double ratio = range.logarithmic ? std::pow(range.high / range.low, kMargin) : 1;
  const double reach = range.logarithmic ? 0 : kMargin * (range.high - range.low);
  if (!axis.low) range.low = range.low / ratio - reach;
  if (!axis.high) range.high = range.high * ratio + reach;
}

void extend_to_ticks(Ruler& range, const Axis& axis, int most) {
  const double step = nice_step(range.high - range.low, most);
  if (!axis.low) range.low = std::floor(range.low / step + 1e-6) * step;
  if (!axis.high) range.high = std::ceil(range.high / step - 1e-6) * step;
}

std::vector<double> distinct(const Axis& axis, std::vector<double> values) {
  std::erase_if(values, [&](double value) { return !shown(axis, value); });
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

Ruler categories(const Axis& axis) {
  Ruler range{-0.5, static_cast<double>(axis.categories.size()) - 0.5};
  for (std::size_t k = 0; k < axis.categories.size(); ++k) range.ticks.push_back({static_cast<double>(k), axis.categories[k]});
  return range;
}

}  // namespace

bool shown(const Axis& axis, double value) {
  return std::isfinite(value) && std::fabs(value) < kLargest && (!axis.logarithmic || value > 1 / kLargest);
}

double Ruler::share(double value) const {
  const double place = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return std::clamp(place, -1.0, 2.0);
}

Ruler ruler(const Axis& axis, const std::vector<double>& values, int most, bool to_ticks) {
  if (!axis.categories.empty()) return categories(axis);
  Ruler range = of_values(axis, values);
  if (to_ticks && !axis.logarithmic) {
    extend_to_ticks(range, axis, most);
  } else {
    add_margins(range, axis);
  }
  constexpr std::size_t kFew = 12;
  std::vector<double> ticks = distinct(axis, values);
  if (!axis.every_value || ticks.size() > kFew || ticks.empty())
    ticks = axis.logarithmic ? logarithmic_ticks(range.low, range.high, most)
                             : multiples(nice_step(range.high - range.low, most), range.low, range.high);
  for (const double value : ticks) range.ticks.push_back({value, number_text(value)});
  return range;
}

std::string number_text(double value) {
  std::string text = fmt::format("{:.10g}", value == 0 ? 0.0 : value);
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text;
  const std::string sign = text[exponent + 1] == '-' ? "-" : "";
  const std::size_t digits = std::min(text.find_first_not_of('0', exponent + 2), text.size() - 1);
  return text.substr(0, exponent + 1) + sign + text.substr(digits);
}

}  // namespace probust::report
