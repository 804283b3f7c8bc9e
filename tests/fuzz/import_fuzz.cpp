// SPDX-License-Identifier: MIT
//
// libFuzzer target for the reader, the lowering of every operator, and the graph passes: for any bytes, import returns a model or
// one Error, and a returned model can be checked, printed, simplified and differentiated, and run if it is small.
#include <cstddef>
#include <cstdint>
#include <span>

#include "probust/autodiff/vjp.h"
#include "probust/base/error.h"
#include "probust/exec/executor.h"
#include "probust/exec/points.h"
#include "probust/onnx/import.h"
#include "probust/ops/append.h"
#include "probust/ops/op.h"
#include "probust/ops/print.h"
#include "probust/passes/simplify.h"

namespace {

constexpr std::int64_t kManyNodes = 2000;  // larger graphs would only be slow to differentiate

void pass_over(const probust::Graph& graph) {
  check(graph);
  (void)to_text(graph);
  const probust::Graph simple = simplify(graph);
  check(simple);
  if (static_cast<std::int64_t>(simple.nodes.size()) > kManyNodes) return;
  try {
    const probust::Vjp derivative = vjp(simple, simple.outputs, simple.inputs());
    check(simplify(derivative.graph));
  } catch (const probust::Error&) {
    // Some graphs have no derivative and throw an Error.
  }
}

// Runs the graph if it fits into the given memory.
void run(const probust::Graph& graph) {
  constexpr double kManyFlops = 1e7;
  probust::ExecutorOptions options;
  options.memory = std::int64_t{64} << 20;
  if (static_cast<std::int64_t>(graph.nodes.size()) > kManyNodes || !(probust::flops(graph) < kManyFlops)) return;
  auto executor = probust::make_executor("cpu", graph, options);
  if (!executor) return;
  probust::Shape shape = (*executor)->point_shape();
  shape.insert(shape.begin(), 3);
  const probust::Tensor x(shape);
  if ((*executor)->logits(x)) (void)(*executor)->jacobian(x, [](std::int64_t, std::span<const float>) {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)probust::summarize_onnx(bytes);
  if (const auto model = probust::import_onnx(bytes)) {
    pass_over(model->graph);
    run(model->graph);
  }
  if (const auto function = probust::import_onnx_function(bytes)) pass_over(function->graph);
  return 0;
}
