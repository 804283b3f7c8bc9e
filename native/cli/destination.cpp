// SPDX-License-Identifier: MIT
#include "cli/destination.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "cli/messages.h"
#include "cli/results.h"
#include "probust/base/error.h"
#include "probust/base/text.h"
#include "store/journal.h"
#include "store/run_file.h"
#include "store/write_lock.h"

namespace probust::cli {
namespace {

// ".csv" -> "csv".
std::string ending_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(dot + 1);
}

std::vector<bool> all_or_none(const Plan& plan, bool all) { return std::vector<bool>(plan.questions().size(), all); }

class Text : public Destination {
 public:
  // `keep`: how much of a file that is there stays; then rows follow without a header.
  Text(const std::string& path, const TextForm& form, std::int64_t keep) {
    if (!path.empty()) file_ = std::fopen(path.c_str(), keep > 0 ? "r+" : "w");
    if (file_ == nullptr)
      throw Error{ErrorCode::usage, "--output", "'" + path + "' cannot be written", "give a path in a folder that exists"};
    if (keep > 0 && (ftruncate(fileno(file_), keep) != 0 || std::fseek(file_, 0, SEEK_END) != 0)) throw write_error();
    writer_ = make_row_writer(form, file_, keep > 0);
  }
  ~Text() override {
    if (file_ != stdout) std::fclose(file_);
  }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  std::vector<bool> answered(const Block&, const Plan& plan) override { return all_or_none(plan, false); }

  void write(const Block&, const Results& results) override {
    try {
      for (const Row& row : results.rows) writer_->write(row);
    } catch (const std::system_error&) {
      throw write_error();
    }
    flush();
  }

  void finish() override { flush(); }

 protected:
  std::int64_t bytes() const { return std::ftell(file_); }

 private:
  void flush() {
    if (std::fflush(file_) != 0) throw write_error();
  }

  std::FILE* file_ = stdout;
  std::unique_ptr<RowWriter> writer_;
};

// A file that one process writes at a time. The lock comes first, or two processes would read and write one journal.
struct LockedJournal {
  LockedJournal(const Arguments& arguments, const store::Configuration& configuration)
      : lock(arguments.output), journal(arguments.output, configuration, arguments.force_new) {}
  store::WriteLock lock;
  store::Journal journal;
};

class ResumableText final : public LockedJournal, public Text {
 public:
  ResumableText(const Arguments& arguments, const TextForm& form, const store::Configuration& configuration)
      : LockedJournal(arguments, configuration), Text(arguments.output, form, journal.bytes()) {}

  std::vector<bool> answered(const Block& block, const Plan& plan) override {
    return all_or_none(plan, block.first + block.count <= journal.done(block.model));
  }
  void write(const Block& block, const Results& results) override {
    Text::write(block, results);
    journal.add(block.model, block.first + block.count, bytes());
  }
  void finish() override {
    Text::finish();
    journal.finish();
  }
};

class Stored final : public Destination {
 public:
  explicit Stored(store::RunFile run)
      : run_(std::move(run)), seconds_before_(parse_double(store::value_of(run_.information(), "seconds")).value_or(0)) {
    run_.set_information({{"finished", ""}});
  }

  std::vector<bool> answered(const Block& block, const Plan& plan) override {
    std::vector<bool> answers;
    for (const auto& [noise, estimator] : plan.questions()) {
      const std::int64_t done = run_.done({.model = block.model,
                                           .noise = plan.noises[noise].text(),
                                           .estimator = plan.text(plan.estimators[estimator]),
                                           .first = block.first,
                                           .count = block.count});
      answers.push_back(done == block.count);
    }
    return answers;
  }
  void write(const Block&, const Results& results) override {
    run_.append(results);
    run_.set_information({{"seconds", fmt::format("{:.1f}", seconds_before_ + watch_.seconds())}});
  }
  void inform(const store::Configuration& entries) override { run_.set_information(entries); }
  void finish() override {
    run_.set_information({{"finished", utc_text()}});
    run_.rest();
  }

 private:
  store::RunFile run_;
  double seconds_before_;  // that earlier attempts took
  Stopwatch watch_;
};

store::RunFile::Mode mode_of(const Arguments& arguments) {
  using Mode = store::RunFile::Mode;
  if (arguments.force_new && arguments.extend) {
    throw Error{ErrorCode::usage, "--extend", "adds to the run that --force-new would remove", "leave one out"};
  }
  if (arguments.extend) return Mode::extend;
  return arguments.force_new ? Mode::replace : Mode::resume;
}

void refuse_for_text(const Arguments& arguments) {
  if (arguments.extend) throw Error{ErrorCode::usage, "--extend", "adds to a run", "give it with -o RUN.sqlite"};
  if (arguments.force_new && arguments.output.empty())
    throw Error{ErrorCode::usage, "--force-new", "replaces an output that is not complete", "give it with -o FILE"};
}

}  // namespace

bool is_run(const std::string& path) { return ending_of(path) == "sqlite"; }

bool names_run(const Arguments& arguments) { return is_run(arguments.output); }

std::string format_of(const Arguments& arguments) {
  std::string ending = ending_of(arguments.output);
  if (!arguments.output.empty() && ending != "csv" && ending != "jsonl") {
    throw Error{ErrorCode::usage, "--output", "'" + arguments.output + "' has another ending than this command writes",
                "name for example rows.csv or rows.jsonl; estimate also writes .sqlite, and export .npz"};
  }
  if (!arguments.format.empty()) return arguments.format;
  if (!ending.empty()) return ending;
  return isatty(STDOUT_FILENO) != 0 ? "table" : "jsonl";
}

std::unique_ptr<Destination> text_destination(const Arguments& arguments, const TextForm& form) {
  refuse_for_text(arguments);
  return std::make_unique<Text>(arguments.output, form, 0);
}

std::unique_ptr<Destination> resumable_text(const Arguments& arguments, const TextForm& form,
                                            const store::Configuration& configuration) {
  refuse_for_text(arguments);
  const std::filesystem::path folder = std::filesystem::path(arguments.output).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    throw Error{ErrorCode::usage, "--output", "'" + arguments.output + "' cannot be written",
                "give a path in a folder that exists"};
  return std::make_unique<ResumableText>(arguments, form, configuration);
}

std::unique_ptr<Destination> run_destination(const Arguments& arguments, const store::Configuration& configuration) {
  if (!arguments.format.empty())
    throw Error{ErrorCode::usage, "--format", "is for text, and --output names a run",
                "leave it out; probust export writes text"};
  return std::make_unique<Stored>(store::RunFile::open(arguments.output, configuration, mode_of(arguments)));
}

void Collected::write(const Block&, const Results& more) {
  results.rows.insert(results.rows.end(), more.rows.begin(), more.rows.end());
  results.points.insert(results.points.end(), more.points.begin(), more.points.end());
  results.skipped.insert(results.skipped.end(), more.skipped.begin(), more.skipped.end());
}

void Collected::inform(const store::Configuration& entries) {
  information.insert(information.end(), entries.begin(), entries.end());
}

void Collected::finish() { information.emplace_back("seconds", fmt::format("{:.1f}", watch_.seconds())); }

}  // namespace probust::cli
