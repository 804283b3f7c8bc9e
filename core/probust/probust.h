// SPDX-License-Identifier: MIT
#pragma once

// probust: the probability that a trained classifier's answer at a point survives noise,
//
//   p_robust(x) = P[argmax f(x + eps) = argmax f(x)].
//
// The pipeline, and the function behind each arrow:
//
//   bytes of an ONNX model
//     -> Model                    import_onnx            onnx/import.h
//     -> Graph in natural units   with_preprocessing     onnx/preprocess.h
//     -> Graph, tidied            simplify               graph/simplify.h
//     -> Graph and derivative     vjp                    autodiff/vjp.h
//     -> Program on a device      make_executor          exec/executor.h
//     -> Linearization            Executor::linearize    exec/executor.h     margins and their Gram matrix
//     -> z and R                  normal_problem         estimators/linearization.h
//     -> Phi_R(z)                 normal::mvn_cdf        normal/multivariate.h
//     -> Estimate                 estimate               estimators/estimator.h
//
// Where there is no model yet: made or own data -> Trainer (train/trainer.h) -> Graph -> bytes, by export_onnx (onnx/export.h).
//
// Above the linearization everything is float32, large, and lives with the executor; below it everything is float64 and small.

#include "probust/autodiff/vjp.h"
#include "probust/estimators/estimator.h"
#include "probust/exec/executor.h"
#include "probust/graph/graph.h"
#include "probust/graph/simplify.h"
#include "probust/noise/noise.h"
#include "probust/normal/multivariate.h"
#include "probust/onnx/export.h"
#include "probust/onnx/import.h"
#include "probust/onnx/preprocess.h"
#include "probust/train/trainer.h"
