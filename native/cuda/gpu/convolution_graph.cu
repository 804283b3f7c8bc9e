// SPDX-License-Identifier: MIT
// Convolutions with their epilogues, as graphs of operations that cuDNN compiles into one kernel. Because compiling takes about
// a second, kernels are compiled for any number of images and cached, if cuDNN supports that.
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "cuda/gpu/convolution_graph.h"

namespace probust::cuda {
namespace {

// The numbers by which cuDNN identifies the values of a graph.
enum Number : std::int64_t { kX = 1, kFilter, kBias, kResidual, kY, kFirstVirtual };

// Describes a tensor [count, channels, rows, columns] that is stored channels-last or, if it is virtual, is only passed from
// one operation to the next.
Described tensor(std::int64_t number, const Shape& extents, Type type, bool is_virtual) {
  const Shape strides{extents[1] * extents[2] * extents[3], 1, extents[1] * extents[3], extents[1]};
  Described tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, data_type(type))
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, extents)
      .set(CUDNN_ATTR_TENSOR_STRIDES, strides)
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, number)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kGraphAlignment)
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
  return std::move(tensor).finished();
}

// The operations of a convolution and its epilogue. Each one reads the result of the previous one.
class Operations {
 public:
  Operations(const Convolution& c, std::int64_t images) : c_(c), result_{images, c.out_channels} {
    const Window& w = c.window;
    const Shape output = w.output();
    result_.insert(result_.end(), output.begin(), output.end());
    left_ = (c.bias != nullptr ? 1 : 0) + (c.has_residual ? 1 : 0) + (c.activation != Activation::none ? 1 : 0);
    convolve(keep(tensor(kX, {images, c.in_channels, w.image[0], w.image[1]}, c.type, false)),
             keep(tensor(kFilter, {c.out_channels, c.in_channels / w.groups, w.kernel[0], w.kernel[1]}, c.type, false)));
    // cuDNN has the most algorithms for this order of operations.
    if (c.has_residual) apply(CUDNN_POINTWISE_ADD, &keep(tensor(kResidual, result_, c.type, false)));
    if (c.bias != nullptr) apply(CUDNN_POINTWISE_ADD, &keep(tensor(kBias, {1, c.out_channels, 1, 1}, Type::float32, false)));
    if (c.activation == Activation::relu) apply(CUDNN_POINTWISE_RELU_FWD);
  }

  Described graph(cudnnHandle_t handle) const {
    std::vector<cudnnBackendDescriptor_t> operations;
    for (const Described& one : operations_) operations.push_back(one.get());
    Described graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle)
        .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(operations.size()),
             operations.data());
#if PROBUST_CUDNN_KEEPS_KERNELS
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED, CUDNN_TYPE_BOOLEAN, true);
#endif
    return std::move(graph).finished();
  }

 private:
  // Descriptors must outlive the operations that refer to them.
  const Described& keep(Described one) { return *kept_.emplace_back(std::make_unique<Described>(std::move(one))); }

  // The result of the next operation: a virtual tensor, or the output if it is the last.
  const Described& next() {
    const bool last = left_-- == 0;
    const std::int64_t number = last ? static_cast<std::int64_t>(kY) : kFirstVirtual + left_;
    so_far_ = &keep(tensor(number, result_, last ? c_.type : Type::float32, !last));
    return *so_far_;
  }

  void convolve(const Described& x, const Described& filter) {
    const Window& w = c_.window;
    Described convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
        .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
        .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2})
        .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, w.pad_low)
        .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, w.pad_high)
        .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, w.stride)
        .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, w.dilation);
    Described operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, keep(std::move(convolution).finished()))
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, filter)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, next())
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0F)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0F);
    operations_.push_back(std::move(operation).finished());
  }

  // Appends an operation on the current value and, if given, `other`.
  void apply(cudnnPointwiseMode_t mode, const Described* other = nullptr) {
    Described pointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    pointwise.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    const Described& before = *so_far_;
    Described operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, keep(std::move(pointwise).finished()))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, before);
    if (other != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *other);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, next());
    operations_.push_back(std::move(operation).finished());
  }

  const Convolution& c_;
  Shape result_;
  int left_ = 0;  // number of operations after the current one
  const Described* so_far_ = nullptr;
  std::vector<std::unique_ptr<Described>> kept_;
  std::vector<Described> operations_;
};

// cuDNN's engines for a graph, in the order of its ranking, fastest first.
std::vector<Described> engines_for(const Described& graph, cudnnBackendHeurMode_t mode) {
  Described heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  const Described ranking = std::move(heuristic).finished();
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(ranking.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
        "cuDNN heuristic");
  std::vector<Described> engines;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i) raw.push_back(engines.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  if (count == 0) return engines;
  check(cudnnBackendGetAttribute(ranking.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count,
                                 raw.data()),
        "cuDNN heuristic");
  while (static_cast<std::int64_t>(engines.size()) > count) engines.pop_back();
  return engines;
}

// cuDNN's notes about an engine. Notes that are unknown here, such as those of a newer library, are ignored.
struct Notes {
  std::int64_t index = -1;
  bool nondeterministic = false, narrow_sums = false, keeps_nan = false;

  explicit Notes(const Described& configured) {
    const Described engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t raw = engine.get();
    std::int64_t count = 0;
    check(cudnnBackendGetAttribute(configured.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw),
          "cuDNN engine");
    check(cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &index),
          "cuDNN engine");
    for (const auto note :
         read<cudnnBackendNumericalNote_t>(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE)) {
      nondeterministic |= note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
      narrow_sums |= note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION;
#if CUDNN_VERSION >= 90100
      keeps_nan |= note == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP;
#endif
    }
    // Engines that compile code at run time implement the rectifier as a comparison, which keeps NaN. refusal_of() tests this.
    for (const auto note : read<cudnnBackendBehaviorNote_t>(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE))
      keeps_nan |= note == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
  }

  bool fits(const Convolution& c) const {
    return !nondeterministic && !narrow_sums && (keeps_nan || c.activation == Activation::none);
  }

 private:
  template <class Note>
  static std::vector<Note> read(const Described& engine, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
    std::vector<Note> notes(64);
    std::int64_t count = 0;
    check(cudnnBackendGetAttribute(engine.get(), name, type, static_cast<std::int64_t>(notes.size()), &count, notes.data()),
          "cuDNN engine");
    notes.resize(static_cast<std::size_t>(std::min<std::int64_t>(count, static_cast<std::int64_t>(notes.size()))));
    return notes;
  }
};

class Whole final : public PlannedConvolution {
 public:
  Whole(Described plan, std::int64_t engine, std::size_t workspace)
      : PlannedConvolution("with its epilogue, engine " + std::to_string(engine), workspace, true), plan_(std::move(plan)) {}

  void run(cudnnHandle_t handle, const Convolution& c, const void* x, const void* residual, void* y,
           void* workspace) const override {
    std::vector<std::int64_t> numbers{kX, kFilter, kY};
    std::vector<const void*> addresses{x, c.filter, y};
    if (c.bias != nullptr) {
      numbers.push_back(kBias);
      addresses.push_back(c.bias);
    }
    if (c.has_residual) {
      numbers.push_back(kResidual);
      addresses.push_back(residual);
    }
    const auto count = static_cast<std::int64_t>(numbers.size());
    Described pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, numbers.data())
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, addresses.data())
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    check(cudnnBackendExecute(handle, plan_.get(), std::move(pack).finished().get()), "convolution");
  }

 private:
  Described plan_;
};

#if PROBUST_CUDNN_KEEPS_KERNELS
Described new_kernels(const Described& graph) {
  Described kernels(CUDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR);
  kernels.set(CUDNN_ATTR_KERNEL_CACHE_OPERATION_GRAPH, graph);
  return std::move(kernels).finished();
}
#endif

}  // namespace

Described::Described(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t raw = nullptr;
  check(cudnnBackendCreateDescriptor(type, &raw), "cuDNN graph");
  raw_.reset(raw);
}

Described& Described::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                          const void* values) {
  check(cudnnBackendSetAttribute(raw_.get(), name, type, count, values), "cuDNN graph");
  return *this;
}

Described& Described::set(cudnnBackendAttributeName_t name, const Described& value) {
  const cudnnBackendDescriptor_t raw = value.get();
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}

Described Described::finished() && {
  check(cudnnBackendFinalize(raw_.get()), "cuDNN graph");
  return std::move(*this);
}

void Described::Destroy::operator()(cudnnBackendDescriptor_t raw) const { cudnnBackendDestroyDescriptor(raw); }

std::unique_ptr<PlannedConvolution> ConvolutionGraphs::plan_with(const Described& engine, std::int64_t index,
                                                                 [[maybe_unused]] const Described& graph,
                                                                 [[maybe_unused]] const ConvolutionKey& key) {
  Described plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle_).set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine);
#if PROBUST_CUDNN_KEEPS_KERNELS
  auto kept = kernels_.find(key);
  if (kept == kernels_.end()) kept = kernels_.emplace(key, new_kernels(graph)).first;
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_KERNEL_CACHE, kept->second);
#endif
  Described finished = std::move(plan).finished();
  std::int64_t count = 0, workspace = 0;
  check(
      cudnnBackendGetAttribute(finished.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &workspace),
      "cuDNN plan");
  if (workspace > static_cast<std::int64_t>(kConvolutionWorkspace))
    throw Error{ErrorCode::unsupported, "the device",
                "needs " + std::to_string(workspace >> 20) + "M of workspace for a convolution, but at most " +
                    std::to_string(kConvolutionWorkspace >> 20) + "M are allowed",
                ""};
  return std::make_unique<Whole>(std::move(finished), index, static_cast<std::size_t>(workspace));
}

// If this fails, the caller runs the convolution without its epilogue, and then a kernel of our own for the epilogue.
std::unique_ptr<PlannedConvolution> ConvolutionGraphs::plan(const Convolution& c, std::int64_t images) {
  std::string problem = "has no fused algorithm in cuDNN";
  try {
    const Described graph = Operations(c, images).graph(handle_);
    for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
      for (const Described& engine : engines_for(graph, mode)) {
        const Notes notes(engine);
        if (!notes.fits(c)) {
          problem = "has no fused algorithm in cuDNN that is deterministic and keeps NaN and precision";
          continue;
        }
        try {
          return plan_with(engine, notes.index, graph, key_of(c, 0, lower_precision(c.type)));
        } catch (const Error& error) {
          problem = error.problem;
        }
      }
    }
  } catch (const Error& error) {
    problem = error.problem;
  }
  (void)cudaGetLastError();  // otherwise the next launch would report it
  throw Error{ErrorCode::unsupported, "the device", problem, ""};
}

}  // namespace probust::cuda
