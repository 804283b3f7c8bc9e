// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/clock.h"
#include "cli/output/row_writer.h"
#include "cli/run/plan.h"
#include "probust/analysis/results.h"
#include "store/configuration.h"

namespace probust::cli {

/// Points of one model that are written together: positions [first, first + count) of the data.
struct Block {
  std::string model;  ///< the model's name in rows
  std::int64_t first = 0, count = 0;
};

/// The destination of results: stdout, a text file, or a run. All functions throw Error{resources} if writing fails.
class Destination {
 public:
  virtual ~Destination() = default;

  /// For each question in the plan, whether an earlier attempt has answered it for all points of the block.
  virtual std::vector<bool> answered(const Block& block, const Plan& plan) = 0;

  /// Adds the results of a block, all or none.
  virtual void write(const Block& block, const Results& results) = 0;

  /// Sets the number of points of the whole run, and other entries of store::RunFile::information.
  virtual void inform(const store::Configuration& /*entries*/) {}

  /// The information that earlier attempts and inform() have stored; empty if the destination does not store any.
  virtual store::Configuration information() const { return {}; }

  /// To be called after the last results.
  virtual void finish() = 0;
};

/// Whether --output names a run, that is, a .sqlite file.
bool names_run(const Arguments& arguments);

/// The format of the output: that of --format; by default, the format for the extension of --output, or for stdout. Throws
/// Error{usage}.
std::string format_of(const Arguments& arguments);

/// A destination that writes text to stdout or to a new file, without a journal.
std::unique_ptr<Destination> text_destination(const Arguments& arguments, const TextForm& form);

/// A destination that writes the text file of --output. If an earlier attempt with the same configuration was interrupted, it
/// is resumed. Throws Error: usage, and the errors of store::Journal.
std::unique_ptr<Destination> resumable_text(const Arguments& arguments, const TextForm& form,
                                            const store::Configuration& configuration);

/// A destination that writes the run of --output. If the run exists, it must have the same `configuration`. Throws Error:
/// usage, and the errors of store::RunFile::open.
std::unique_ptr<Destination> run_destination(const Arguments& arguments, const store::Configuration& configuration);

/// A destination that keeps all results in memory.
class Collected final : public Destination {
 public:
  std::vector<bool> answered(const Block&, const Plan& plan) override { return std::vector<bool>(plan.questions().size()); }
  void write(const Block& block, const Results& results) override;
  void inform(const store::Configuration& entries) override;
  store::Configuration information() const override { return entries; }
  void finish() override;

  Results results;
  store::Configuration entries;  ///< the information that inform() has set

 private:
  Stopwatch watch_;
};

}  // namespace probust::cli
