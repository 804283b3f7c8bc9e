// SPDX-License-Identifier: MIT
//
// Numbers and names in the form for readers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probust/analysis/sweeps.h"

namespace probust::report {

/// "0.8421"; values that are not finite are a dash, here and below.
std::string probability(double p);

/// "0.8370 to 0.8472".
std::string interval(double low, double high);

/// The 95% interval of an estimate. If it has only a standard error, "± 0.0123" with two standard errors; otherwise a dash.
std::string interval(const Estimate& estimate);

/// "91.3%".
std::string percent(double share);

/// Three significant digits.
std::string rounded(double value);

/// "12,345".
std::string counted(std::int64_t count);

/// "1 point", "12,345 points".
std::string counted(std::int64_t count, const std::string& what);

/// "0.8 s", "3 min 12 s", "2 h 5 min".
std::string duration(double seconds);

/// "3 (Bag)"; "3" if classes have no names.
std::string class_text(std::int64_t number, const std::vector<std::string>& names);

/// The name of a path's file.
std::string file_name(const std::string& path);

/// "0.123"; "< 0.05" or "> 0.2" if the scale is outside the sweep.
std::string tolerated(const ToleratedScale& scale);

/// "gaussian:0.1, auto:100", after the model's name if there is one.
std::string text_of(const GroupKey& key);

}  // namespace probust::report
