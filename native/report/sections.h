// SPDX-License-Identifier: MIT
//
// The sections of a report as HTML. Each section explains its numbers, for readers who do not know the program.
#pragma once

#include <string>
#include <vector>

#include "probust/analysis/groups.h"
#include "probust/analysis/summary.h"
#include "probust/analysis/sweeps.h"
#include "report/focus.h"
#include "report/html.h"
#include "report/page.h"

namespace probust::report {

/// Data that several sections use. They refer to the run, which must outlive them.
struct Material {
  explicit Material(const Run& about);

  const Run& run;
  Summary summary;
  std::vector<RowGroup> groups;
  std::vector<Focus> focuses;
  std::vector<RowSweep> sweeps;

  bool several_models() const { return focuses.size() > 1; }

  /// The columns and cells that identify a group in a table: the model if there are several, the noise and the estimator.
  std::vector<Column> key_columns() const;
  std::vector<std::string> key_cells(const GroupKey& key) const;

  /// The sweep over the scales of the focus's widest noise, with the focus's estimator; null if there is only one scale.
  const RowSweep* sweep_of(const Focus& focus) const;

  /// "of MODEL " if there are several models; otherwise empty.
  std::string of_model(const std::string& model) const;
};

/// A box with the warnings of the check before the run and, if `other` is given, of the check before the other run; empty if
/// there are no warnings.
std::string warnings_box(const Run& run, const Run* other);

/// verdict: for each model of `other`, a sentence that compares it with the run. comparison_section: the full comparison, with
/// all numbers.
std::string verdict(const Run& run, const Run& other);
std::string comparison_section(const Run& run, const Run& other);

/// Pictures of the least and the most robust points; empty if there are no pictures.
std::string pictures_section(const Material& material, const Pictures& pictures);

/// The accuracy with and without noise, mean p at each noise and the time, as large numbers; and a table of all groups.
std::string summary_section(const Material& material);

/// p by family of noise, the most dangerous first, and pictures of samples; empty for a run without perturbations of images.
std::string perturbation_section(const Material& material, const Pictures& pictures);

/// The mean p of each class.
std::string bias_section(const Material& material);

/// Tables of the least and the most robust points.
std::string points_section(const Material& material, const Pictures& pictures);

/// Mean p as a function of sigma, the distribution of p, and the largest sigma that points tolerate.
std::string sigma_section(const Material& material);

/// Comparisons of the estimators with each other and with the softmax probability.
std::string agreement_section(const Material& material);

/// Certified radii.
std::string certificate_section(const Material& material);

/// Points without p, and estimates whose status is not `ok`.
std::string status_section(const Material& material);

/// The command, versions and checksums.
std::string origin_section(const Material& material);

}  // namespace probust::report
