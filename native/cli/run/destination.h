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
  std::string model;  ///< its name in rows
  std::int64_t first = 0, count = 0;
};

/// Where results go: stdout, a text file, or a run. All functions throw Error{resources} if nothing more can be written.
class Destination {
 public:
  virtual ~Destination() = default;

  /// Which of the plan's questions an earlier attempt has answered for all points of the block.
  virtual std::vector<bool> answered(const Block& block, const Plan& plan) = 0;

  /// All results of a block, at once.
  virtual void write(const Block& block, const Results& results) = 0;

  /// How many points the whole run has, and other entries of store::RunFile::information.
  virtual void inform(const store::Configuration& /*entries*/) {}

  /// What an earlier attempt was informed of.
  virtual store::Configuration information() const { return {}; }

  /// Nothing more will come.
  virtual void finish() = 0;
};

/// Whether --output names a run, a .sqlite file.
bool names_run(const Arguments& arguments);

/// --format, or what the name of --output says, or what suits stdout. Throws Error{usage}.
std::string format_of(const Arguments& arguments);

/// stdout, or a new text file, without a record of what is done.
std::unique_ptr<Destination> text_destination(const Arguments& arguments, const TextForm& form);

/// The text file that --output names. If an earlier attempt with the same configuration was cut, it goes on. Throws Error: usage,
/// and what store::Journal throws.
std::unique_ptr<Destination> resumable_text(const Arguments& arguments, const TextForm& form,
                                            const store::Configuration& configuration);

/// The run that --output names. If it is there, `configuration` has to be the same. Throws Error: usage, and what
/// store::RunFile::open throws.
std::unique_ptr<Destination> run_destination(const Arguments& arguments, const store::Configuration& configuration);

/// Keeps everything.
class Collected final : public Destination {
 public:
  std::vector<bool> answered(const Block&, const Plan& plan) override { return std::vector<bool>(plan.questions().size()); }
  void write(const Block& block, const Results& results) override;
  void inform(const store::Configuration& entries) override;
  store::Configuration information() const override { return entries; }
  void finish() override;

  Results results;
  store::Configuration entries;  ///< of which it was informed

 private:
  Stopwatch watch_;
};

}  // namespace probust::cli
