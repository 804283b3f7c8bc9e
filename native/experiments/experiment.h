// SPDX-License-Identifier: MIT
//
// An experiment that repeats one from a paper, and its findings: the paper's claims, each with the result found here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "report/html.h"
#include "report/picture_grid.h"
#include "report/plot.h"

namespace probust::cli::reproduce {

enum class Verdict : std::uint8_t { confirmed, not_confirmed, not_tested };

/// The verdict in words: "confirmed", "not confirmed" or "not tested".
std::string_view text_of(Verdict verdict);

/// The verdict on a claim that was tested.
inline Verdict verdict_of(bool confirmed) { return confirmed ? Verdict::confirmed : Verdict::not_confirmed; }

/// A claim of a paper, and the corresponding result. `paper` and `found` are sentences with the numbers to compare.
struct Claim {
  std::string paper;  ///< the paper's claim, in our words
  std::string where;  ///< place in the paper, such as "section 4.1, figure 2a"
  std::string found;  ///< the result of the repetition
  Verdict verdict = Verdict::not_tested;
};

struct Figure {
  std::string name;  ///< name of its .svg file, without the extension
  std::string caption;
  std::variant<report::Chart, report::PictureGrid> content;
};

/// A table, in the report and as a .csv file.
struct Sheet {
  std::string name;  ///< name of its .csv file, without the extension
  std::string caption;
  std::vector<report::Column> columns;
  std::vector<std::vector<std::string>> rows{};
  bool in_report = true;  ///< false for long tables, which are only written to files
};

struct Findings {
  std::vector<std::string> method{};  ///< paragraphs on models, points, samples, and differences from the paper
  std::vector<Claim> claims{};
  std::vector<Figure> figures{};
  std::vector<Sheet> sheets{};
};

class Study;

struct Experiment {
  std::string_view name;   ///< its name on the command line
  std::string_view title;  ///< title of its section in the report
  std::string_view paper;  ///< the paper, such as "Scher, Trügler (2023)"
  Findings (*run)(Study& study);
};

inline constexpr std::string_view kHan = "Han, Srinivas, Lakkaraju (UAI 2024)";
inline constexpr std::string_view kScher = "Scher, Trügler (2023)";

/// The experiments in the order of the report. To add one, add its function to experiments.h and a line to experiments.cpp.
std::span<const Experiment> all_experiments();

}  // namespace probust::cli::reproduce
