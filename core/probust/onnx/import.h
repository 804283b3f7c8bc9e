// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probust/base/error.h"
#include "probust/graph/graph.h"
#include "probust/onnx/external.h"
#include "probust/onnx/layout.h"

namespace probust {

/// An input or output of the ONNX graph.
struct Port {
  std::string name;
  std::string type;  ///< "float32", "int64", ..., "sequence"
  Shape shape;       ///< as declared; -1 where symbolic
};

/// An operator of the ONNX graph, how often it occurs, and whether probust supports it.
struct OperatorUse {
  std::string op_type, domain;
  std::int64_t count = 0;
  bool runs = false;
  bool differentiable = false;
};

/// A summary of a model, whether or not all of its operators are supported.
struct ModelSummary {
  std::string producer, graph_name;
  std::int64_t ir_version = 0, opset = 0;
  std::int64_t parameters = 0;  ///< number of stored floating-point and quantised weight elements (onnx/parameters.h)
  std::vector<Port> inputs, outputs;
  std::vector<OperatorUse> operators;    ///< in order of first appearance
  std::vector<std::string> class_names;  ///< from the model's metadata or operators, any number of them; may be empty
  std::string open_input;  ///< the input with dynamic extents besides the batch, which the data must determine; empty if none
};

/// A classifier as a function of one example.
struct Model {
  ModelSummary summary;
  Graph graph;  ///< one input of the ONNX input's shape at batch one; one output, the logits [C]
  std::string input_name, output_name;
  Shape input_shape;  ///< at batch one, e.g. [1, 3, 32, 32]
  std::int64_t classes = 0;
  std::vector<std::string> notes;  ///< decisions made during import, one sentence each
  /// Whether the model's last operator was an ArgMax, Softmax or LogSoftmax. If not, the model may be a regression.
  bool classifies = false;
  /// The decision rule, in one line: "the largest of 10 values of 'logits'", "class 1 if 'score' > 0". Empty for a model that is
  /// imported without a decision (ImportOptions::decide).
  std::string decision;
  std::optional<double> threshold;       ///< if one number decides: class 1 if it is above this, in the output's own units
  std::vector<std::string> class_names;  ///< from the model's metadata or its operators, one per class; may be empty
};

struct ImportOptions {
  std::string output_name;  ///< the output or inner tensor that determines the class; if empty, the only suitable one
  /// Whether the model must decide between classes, so that `classes` is at least 2. If so, one number is compared with a
  /// threshold, and operators that saturate (clipping, logarithms, sigmoids, a second softmax) are removed if they keep the
  /// order of classes. Otherwise the numbers of the output are used, without a final ArgMax or Softmax.
  bool decide = false;
  /// If one number decides: class 1 if it is above this, in the output's own units. Empty: 0 for scores, 0.5 for probabilities.
  std::optional<double> threshold = {};
  std::vector<std::int64_t> outputs = {};  ///< positions of the output's values to use as classes, in this order; empty: all
  /// The number of classes among the data's labels, which may help to choose between several outputs; 0: unknown.
  std::int64_t data_classes = 0;
  /// The input's shape for one example, e.g. [1, 3, 224, 224], if the model has dynamic extents besides the batch.
  Shape input_shape = {};
  /// The shape of one point of the data, e.g. [3, 224, 224]. Determines extents that neither the model nor `input_shape` gives.
  Shape data_shape = {};
  Layout layout = Layout::automatic;  ///< the order in which the input expects points of `data_shape`
  ExternalFiles external = {};        ///< opens files that contain weights stored outside the model
};

/// Imports an ONNX model (opsets 7 to 28). Models are imported at batch size one, whatever their exported batch; executors run
/// the graph for any number of examples. A final Softmax, LogSoftmax or ArgMax is removed, because margins need logits. Errors:
/// unreadable (not a model, damaged, points of `data_shape` that do not fit), unsupported (names the node, operator and opset; or
/// the input with dynamic extents), usage (no such output, an input shape that does not fit).
Result<Model> import_onnx(std::span<const std::byte> bytes, const ImportOptions& options = {});

/// An ONNX graph as a function of its inputs. It keeps its batch axis and all of its outputs.
struct Function {
  Graph graph;
  std::vector<std::string> inputs, outputs;       ///< names, in the order of the graph's inputs and outputs
  std::map<std::string, std::string> properties;  ///< metadata_props
};

struct FunctionOptions {
  std::map<std::string, Tensor> fixed;  ///< values of inputs that are treated as constants
  std::int64_t batch = 0;               ///< replaces a symbolic first extent of inputs; 0: there must be none
};

/// Imports an ONNX graph with any number of inputs and outputs of declared shapes. All other shapes must follow from the declared
/// shapes and the fixed inputs. Errors: unreadable (not a model, damaged), unsupported (names the node, operator and opset).
Result<Function> import_onnx_function(std::span<const std::byte> bytes, const FunctionOptions& options = {});

/// Summarizes the file. Errors: unreadable; unsupported if weights are in files that `external` does not open.
Result<ModelSummary> summarize_onnx(std::span<const std::byte> bytes, const ExternalFiles& external = {});

}  // namespace probust
