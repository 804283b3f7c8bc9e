// SPDX-License-Identifier: MIT
#pragma once

// probust: the probability that a trained classifier's prediction at a point survives noise,
//
//   p_robust(x) = P[argmax f(x + eps) = argmax f(x)].
//
// Most programs need load_model and LoadedModel alone (model.h):
//
//   probust::LoadedModel model = probust::load_model(bytes);
//   for (const probust::Row& row : model.estimate(x, {"gaussian:0.1"})) use(row.estimate.p);
//
// They perform these steps. Each can be called on its own:
//
//   bytes of an ONNX model
//     -> Model                    import_onnx            onnx/import.h
//     -> Graph in natural units   with_preprocessing     onnx/preprocess.h
//     -> Graph, simplified        simplify               passes/simplify.h
//     -> Graph and derivative     vjp                    autodiff/vjp.h
//     -> Program on a device      make_executor          exec/executor.h
//     -> Linearization            Executor::linearize    exec/executor.h     margins and their Gram matrix
//     -> z and R                  normal_problem         estimators/linearization.h
//     -> Phi_R(z)                 normal::mvn_cdf        normal/multivariate.h
//     -> Estimate                 estimate               estimators/estimator.h
//
// To train a model first: data -> Trainer (train/trainer.h) -> Graph -> bytes, by export_onnx (onnx/export.h).
//
// Up to the linearization everything is float32 and large and stays with the executor. After it everything is float64 and small.

#include "probust/autodiff/vjp.h"
#include "probust/estimators/estimator.h"
#include "probust/exec/executor.h"
#include "probust/graph/graph.h"
#include "probust/model.h"
#include "probust/noise/noise.h"
#include "probust/normal/multivariate.h"
#include "probust/onnx/export.h"
#include "probust/onnx/import.h"
#include "probust/onnx/preprocess.h"
#include "probust/passes/simplify.h"
#include "probust/perturb/noise_text.h"
#include "probust/train/models.h"
#include "probust/train/trainer.h"
