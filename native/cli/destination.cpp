// SPDX-License-Identifier: MIT
#include "cli/destination.h"

#include <unistd.h>

#include <cstdio>
#include <system_error>

#include "cli/messages.h"
#include "cli/row_writer.h"
#include "probust/base/error.h"

namespace probust::cli {
namespace {

// ".csv" -> "csv".
std::string ending_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(dot + 1);
}

class Text final : public Destination {
 public:
  Text(const std::string& path, const std::string& format, const std::vector<std::string>& class_names, std::int64_t classes) {
    if (!path.empty()) file_ = std::fopen(path.c_str(), "w");
    if (file_ == nullptr)
      throw Error{ErrorCode::usage, "--output", "'" + path + "' cannot be written", "give a path in a folder that exists"};
    writer_ = make_row_writer(format, file_, class_names, classes);
  }
  ~Text() override {
    if (file_ != stdout) std::fclose(file_);
  }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  bool has(std::int64_t, std::int64_t) const override { return false; }
  void write(const Row& row) override {
    try {
      writer_->write(row);
    } catch (const std::system_error&) {
      throw write_error();
    }
  }
  void flush() override {
    if (std::fflush(file_) != 0) throw write_error();
  }

 private:
  std::FILE* file_ = stdout;
  std::unique_ptr<RowWriter> writer_;
};

class Stored final : public Destination {
 public:
  Stored(store::RunFile run, std::int64_t rows_a_point) : run_(std::move(run)), rows_a_point_(rows_a_point) {}

  bool has(std::int64_t first, std::int64_t count) const override { return run_.rows(first, count) == count * rows_a_point_; }
  void write(const Row& row) override { waiting_.push_back(row); }
  void flush() override {
    run_.append(waiting_);
    waiting_.clear();
  }

 private:
  store::RunFile run_;
  std::int64_t rows_a_point_;
  std::vector<Row> waiting_;
};

}  // namespace

bool names_run(const Arguments& arguments) { return ending_of(arguments.output) == "sqlite"; }

std::unique_ptr<Destination> text_destination(const Arguments& arguments, const std::vector<std::string>& class_names,
                                              std::int64_t classes) {
  if (arguments.force_new) throw Error{ErrorCode::usage, "--force-new", "replaces a run", "give it with -o RUN.sqlite"};
  const std::string ending = ending_of(arguments.output);
  if (!arguments.output.empty() && ending != "csv" && ending != "jsonl") {
    throw Error{ErrorCode::usage, "--output", "'" + arguments.output + "' does not end in .csv, .jsonl or .sqlite",
                "name for example rows.jsonl"};
  }
  std::string format = arguments.format;
  if (format.empty()) format = ending;
  if (format.empty()) format = isatty(STDOUT_FILENO) != 0 ? "table" : "jsonl";
  return std::make_unique<Text>(arguments.output, format, class_names, classes);
}

std::unique_ptr<Destination> run_destination(const Arguments& arguments, const store::Configuration& configuration,
                                             std::int64_t rows_a_point) {
  if (!arguments.format.empty())
    throw Error{ErrorCode::usage, "--format", "is for text, and --output names a run",
                "leave it out; probust export writes text"};
  return std::make_unique<Stored>(store::RunFile::open(arguments.output, configuration, arguments.force_new), rows_a_point);
}

}  // namespace probust::cli
