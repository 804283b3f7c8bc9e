// SPDX-License-Identifier: MIT
#include "cli/run/destination.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "cli/messages.h"
#include "cli/options.h"
#include "cli/run/results.h"
#include "datasets/unwritable.h"
#include "probust/base/error.h"
#include "probust/base/text.h"
#include "store/journal.h"
#include "store/run_file.h"
#include "store/write_lock.h"

namespace probust::cli {
namespace {

// The extension of a path without its dot, such as "csv".
std::string ending_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(dot + 1);
}

void add(Results& to, const Results& more) {
  to.rows.insert(to.rows.end(), more.rows.begin(), more.rows.end());
  to.points.insert(to.points.end(), more.points.begin(), more.points.end());
  to.skipped.insert(to.skipped.end(), more.skipped.begin(), more.skipped.end());
}

std::vector<bool> all_or_none(const Plan& plan, bool all) { return std::vector<bool>(plan.questions().size(), all); }

// Appends rows to a text file. An existing file is not changed until the first block is written.
class Text : public Destination {
 public:
  // `keep` is the number of bytes to keep of an existing file. If it is positive, rows are appended without a header.
  Text(std::string path, TextForm form, std::int64_t keep) : path_(std::move(path)), form_(std::move(form)), keep_(keep) {
    (void)make_row_writer(form_, stdout, true);  // throws for an unknown format
  }
  ~Text() override {
    if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  std::vector<bool> answered(const Block&, const Plan& plan) override { return all_or_none(plan, false); }

  void write(const Block&, const Results& results) override {
    open();
    try {
      for (const Row& row : results.rows) writer_->write(row);
    } catch (const std::system_error&) {
      throw write_error();
    }
    flush();
  }

  void finish() override {
    open();
    flush();
  }

 protected:
  std::int64_t bytes() const { return std::ftell(file_); }

 private:
  void open() {
    if (file_ != nullptr) return;
    file_ = path_.empty() ? stdout : std::fopen(path_.c_str(), keep_ > 0 ? "r+" : "w");
    if (file_ == nullptr) throw unwritable(path_, errno);
    if (keep_ > 0 && (ftruncate(fileno(file_), keep_) != 0 || std::fseek(file_, 0, SEEK_END) != 0)) throw write_error();
    writer_ = make_row_writer(form_, file_, keep_ > 0);
  }

  void flush() {
    if (std::fflush(file_) != 0) throw write_error();
  }

  std::string path_;  // empty for stdout
  TextForm form_;
  std::int64_t keep_;
  std::FILE* file_ = nullptr;
  std::unique_ptr<RowWriter> writer_;
};

// A journal that only one process at a time can use. The lock is acquired before the journal is read, because two processes
// could otherwise read and write the same journal.
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

// Appends blocks to a run, at most once a second, because each write takes some milliseconds, which may be longer than a fast
// model takes for a block. The file is not changed until the first block is written.
class Stored final : public Destination {
 public:
  explicit Stored(store::RunFile run)
      : run_(std::move(run)), seconds_before_(parse_double(store::value_of(run_.information(), "seconds")).value_or(0)) {}
  ~Stored() override {
    try {
      append();
    } catch (const Error& error) {
      say("probust: {}\n", error.message(as_flag));
    }
  }
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;

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
    constexpr double kBetween = 1;  // seconds
    add(waiting_, results);
    if (!begun_ || since_append_.seconds() >= kBetween) append();
  }
  void inform(const store::Configuration& entries) override {
    information_.insert(information_.end(), entries.begin(), entries.end());
  }
  store::Configuration information() const override {
    store::Configuration all = run_.information();
    for (const auto& entry : information_) {  // pending entries replace those in the file
      std::erase_if(all, [&](const auto& old) { return old.first == entry.first; });
      all.push_back(entry);
    }
    return all;
  }
  void finish() override {
    begun_ = true;
    inform({{"finished", utc_text()}});
    append();
  }

 private:
  // Writes the pending blocks and information. Does nothing before the first block.
  void append() {
    if (!begun_ && waiting_.rows.empty() && waiting_.points.empty() && waiting_.skipped.empty()) return;
    store::Configuration entries;
    if (!begun_) entries.emplace_back("finished", "");
    begun_ = true;
    const Results results = std::exchange(waiting_, {});
    for (auto& entry : std::exchange(information_, {})) entries.push_back(std::move(entry));
    if (results.points.empty() && results.skipped.empty() && entries.empty()) return;
    if (!results.points.empty()) entries.emplace_back("seconds", fmt::format("{:.1f}", seconds_before_ + watch_.seconds()));
    run_.append(results, entries);
    since_append_ = {};
  }

  store::RunFile run_;
  double seconds_before_;  // time of earlier attempts
  Results waiting_;
  store::Configuration information_;
  bool begun_ = false;
  Stopwatch watch_, since_append_;
};

store::RunFile::Mode mode_of(const Arguments& arguments) {
  using Mode = store::RunFile::Mode;
  if (arguments.force_new && arguments.extend) {
    throw Error{ErrorCode::usage, "--extend", "cannot be combined with --force-new, which removes the run", "leave one out"};
  }
  if (arguments.extend) return Mode::extend;
  return arguments.force_new ? Mode::replace : Mode::resume;
}

void refuse_for_text(const Arguments& arguments) {
  if (arguments.extend) throw Error{ErrorCode::usage, "--extend", "needs a run to add to", "give one with -o RUN.sqlite"};
  if (arguments.force_new && arguments.output.empty())
    throw Error{ErrorCode::usage, "--force-new", "needs an output file to replace", "give one with -o FILE"};
}

}  // namespace

bool is_run(const std::string& path) { return ending_of(path) == "sqlite"; }

bool names_run(const Arguments& arguments) { return is_run(arguments.output); }

std::string format_of(const Arguments& arguments) {
  std::string ending = ending_of(arguments.output);
  if (!arguments.output.empty() && ending != "csv" && ending != "jsonl") {
    throw Error{ErrorCode::usage, "--output", "is '" + arguments.output + "', which does not end in .csv or .jsonl",
                "try rows.csv; estimate also writes .sqlite, and export .npz"};
  }
  if (!arguments.format.empty()) return arguments.format;
  if (!ending.empty()) return ending;
  return isatty(STDOUT_FILENO) != 0 ? "table" : "jsonl";
}

std::unique_ptr<Destination> text_destination(const Arguments& arguments, const TextForm& form) {
  refuse_for_text(arguments);
  if (!arguments.output.empty()) require_writable(arguments.output);
  return std::make_unique<Text>(arguments.output, form, 0);
}

std::unique_ptr<Destination> resumable_text(const Arguments& arguments, const TextForm& form,
                                            const store::Configuration& configuration) {
  refuse_for_text(arguments);
  require_writable(arguments.output);
  return std::make_unique<ResumableText>(arguments, form, configuration);
}

std::unique_ptr<Destination> run_destination(const Arguments& arguments, const store::Configuration& configuration) {
  if (!arguments.format.empty())
    throw Error{ErrorCode::usage, "--format", "applies only to text files, but --output is a run",
                "leave it out, and write text with probust export"};
  return std::make_unique<Stored>(store::RunFile::claim(arguments.output, configuration, mode_of(arguments)));
}

void Collected::write(const Block&, const Results& more) { add(results, more); }

void Collected::inform(const store::Configuration& more) {
  for (const auto& entry : more) {
    const auto old = std::find_if(entries.begin(), entries.end(), [&](const auto& each) { return each.first == entry.first; });
    if (old != entries.end()) {
      *old = entry;
    } else {
      entries.push_back(entry);
    }
  }
}

void Collected::finish() { entries.emplace_back("seconds", fmt::format("{:.1f}", watch_.seconds())); }

}  // namespace probust::cli
