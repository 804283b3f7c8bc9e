// SPDX-License-Identifier: MIT
// probust-operator-table [--check FILE]: prints docs/operators.md, generated from the lists of operators; with --check, reports
// whether FILE is up to date, and exits with status 1 if it is not.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "conformance_skips.h"
#include "probust/onnx/lower/lower.h"
#include "probust/ops/op.h"

namespace probust::test {
namespace {

std::string opsets(const onnx::OperatorFamily& family, const onnx::OnnxOperator& entry) {
  const bool main = family.domain.empty();
  const std::int64_t oldest = main ? std::max(entry.since, onnx::kOldestOpset) : entry.since;
  return fmt::format("{} to {}", oldest, main ? onnx::kNewestOpset : onnx::kNewestMlOpset);
}

std::string family_table(const onnx::OperatorFamily& family) {
  std::string text = fmt::format("## {}{}\n\n| operator | forward | derivative | opsets |\n|---|---|---|---|\n", family.title,
                                 family.domain.empty() ? "" : " (`" + std::string(family.domain) + "`)");
  for (const onnx::OnnxOperator& entry : family.operators) {
    text += fmt::format("| {} | yes | {} | {} |\n", entry.op_type, entry.differentiable ? "yes" : "zero almost everywhere",
                        opsets(family, entry));
  }
  return text + "\n";
}

std::string core_table() {
  std::string text = "## The core's own operators\n\n| operator | meaning |\n|---|---|\n";
  for (const OpDefinition& op : all_ops()) {
    std::string formula(op.formula);
    for (std::size_t at = 0; (at = formula.find('|', at)) != std::string::npos; at += 2) formula.insert(at, "\\");
    text += fmt::format("| {} | {} |\n", op.name, formula);
  }
  return text + "\n";
}

std::string skip_table() {
  std::string text =
      "## Node tests that are left out\n\n"
      "ONNX's node tests run with `probust-onnx-tests DIR...`. A case skips itself, and says so, where its operator is in none "
      "of\n"
      "the tables above, where its opset is older, or where its values are of a type that is not represented (text, sequences,\n"
      "optional values, 8-bit and 4-bit floats, 4-bit integers). Left out by name:\n\n"
      "| case | reason |\n|---|---|\n";
  for (const ConformanceSkip& skip : conformance_skips()) text += fmt::format("| `{}` | {} |\n", skip.name, skip.reason);
  return text;
}

std::string document() {
  std::string text =
      "# Operators\n\nMade from the lists of operators by `probust-operator-table`; a test says where this file is out of "
      "date.\n\n"
      "Every operator is lowered at import to the core's own, at the end of this page, which run on every backend and have\n"
      "derivatives made of one another. \"Zero almost everywhere\" means that a derivative exists and says nothing: a classifier "
      "of\n"
      "which every path leads through such an operator is recognised, and estimators that rest on gradients answer\n"
      "`degenerate`. Functions that a model defines itself are inlined. Shapes, axes and indices are constants of the model,\n"
      "unless said otherwise by the operator's own refusal.\n\n";
  for (const onnx::OperatorFamily& family : onnx::operator_families()) text += family_table(family);
  return text + core_table() + skip_table();
}

bool is_current(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()) == document();
}

}  // namespace
}  // namespace probust::test

int main(int argc, char** argv) {
  using namespace probust::test;
  if (argc == 3 && std::string(argv[1]) == "--check") {
    if (is_current(argv[2])) return 0;
    std::fprintf(stderr, "%s is out of date: write probust-operator-table's output to it\n", argv[2]);
    return 1;
  }
  std::fputs(document().c_str(), stdout);
  return 0;
}
