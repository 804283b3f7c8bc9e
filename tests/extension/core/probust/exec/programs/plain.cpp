// SPDX-License-Identifier: MIT
#include "probust/exec/programs/program.h"

namespace probust {

std::unique_ptr<Program> compile_plain(const Graph& graph) { return compile_reference(graph); }

}  // namespace probust
