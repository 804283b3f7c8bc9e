// SPDX-License-Identifier: MIT
//
// Formats numbers and names for readers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probust/analysis/sweeps.h"

namespace probust::report {

/// A probability such as "0.8421". Here and below, a value that is not finite becomes a dash.
std::string probability(double p);

/// An interval such as "0.8370 to 0.8472".
std::string interval(double low, double high);

/// The 95% interval of an estimate. If the estimate has only a standard error, twice that, such as "± 0.0123"; if it has
/// neither, a dash.
std::string interval(const Estimate& estimate);

/// A share as a percentage, such as "91.3%".
std::string percent(double share);

/// A number with three significant digits.
std::string rounded(double value);

/// A number such as "12,345".
std::string counted(std::int64_t count);

/// A number with a noun, such as "1 point" or "12,345 points".
std::string counted(std::int64_t count, const std::string& what);

/// A time such as "0.8 s", "3 min 12 s" or "2 h 5 min".
std::string duration(double seconds);

/// A class such as "3 (Bag)", or "3" if classes have no names.
std::string class_text(std::int64_t number, const std::vector<std::string>& names);

/// The file name in a path.
std::string file_name(const std::string& path);

/// A scale such as "0.123", or "< 0.05" or "> 0.2" if it is outside the sweep.
std::string tolerated(const ToleratedScale& scale);

/// The noise and estimator of a group, such as "gaussian:0.1, auto:100", preceded by the name of its model if it has one.
std::string text_of(const GroupKey& key);

}  // namespace probust::report
