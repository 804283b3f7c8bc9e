// SPDX-License-Identifier: MIT
// The implementation of Device for NVIDIA GPUs: the CUDA runtime for memory and streams, cuBLASLt for products, cuDNN for
// convolutions.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "cuda/gpu/convolution_graph.h"
#include "cuda/gpu/convolution_trial.h"
#include "cuda/gpu/libraries.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/trace.h"
#include "probust/base/error.h"

namespace probust::cuda {
namespace {

// The workspace of a matrix product in bytes. Algorithms that need more are not used.
constexpr std::size_t kProductWorkspace = std::size_t{32} << 20;  // cuBLAS's recommendation for Hopper

constexpr int kOldest = 75, kNarrow = 80;      // the oldest supported compute capability, 7.5; the first with tf32 and bf16, 8.0
constexpr std::int64_t kMostProducts = 32768;  // products in one call; cuBLASLt's limit is 65535
constexpr std::int64_t kMostElements = (std::int64_t{1} << 31) - 1;  // elements of one cuDNN tensor

}  // namespace

struct Mark {
  cudaEvent_t event = nullptr;

  Mark() { check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "CUDA event"); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark() { cudaEventDestroy(event); }
};

struct Recording {
  cudaGraphExec_t graph = nullptr;
  cudaStream_t stream = nullptr;

  Recording(cudaGraphExec_t of, cudaStream_t on) : graph(of), stream(on) {}
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() {
    cudaStreamSynchronize(stream);  // the graph may still be running
    cudaGraphExecDestroy(graph);
  }
};

struct Device::State {
  int ordinal = 0;
  Precision precision = Precision::float32;
  cudaStream_t stream = nullptr, side = nullptr;
  cudaStream_t current = nullptr;       // one of the two
  cublasLtHandle_t products = nullptr;  // created at first use
  cudnnHandle_t convolutions = nullptr;
  std::uint64_t epoch = 0;
  std::int64_t launches = 0;
  std::string algorithm;  // that of the last product or convolution
  Array<char> workspace;  // for the main stream; as large as any algorithm has needed so far
  std::map<ProductKey, PlannedProduct> planned_products;
  std::optional<ConvolutionGraphs> graphs;
  std::map<ConvolutionKey, std::unique_ptr<PlannedConvolution>> planned_convolutions;  // null if cuDNN cannot run it
  std::map<ConvolutionKey, std::string> refusals;  // reasons against fused epilogues, for any number of images

  ~State() {
    cudaSetDevice(ordinal);
    planned_products.clear();
    planned_convolutions.clear();
    graphs.reset();
    if (convolutions != nullptr) cudnnDestroy(convolutions);
    if (products != nullptr) cublasLtDestroy(products);
    for (cudaStream_t one : {stream, side}) {
      if (one != nullptr) cudaStreamDestroy(one);
    }
  }

  cublasLtHandle_t product_handle() {
    if (products == nullptr) check(cublasLtCreate(&products), "cuBLASLt");
    return products;
  }

  cudnnHandle_t convolution_handle() {
    if (convolutions == nullptr) {
      check(cudnnCreate(&convolutions), "cuDNN");
      check(cudnnSetStream(convolutions, stream), "cuDNN");
    }
    return convolutions;
  }

  // Grows an array in device memory. This starts a new epoch, because the array's address changes.
  template <class T>
  T* grown(Device& device, Array<T>& held, std::int64_t size) {
    if (size > held.size()) ++epoch;
    return held.grown(device, size);
  }

  // Computes a product without its activation. Returns whether the bias was included.
  bool multiply(Device& device, const Product& p) {
    const ProductKey key{precision, alignments_of(p), p.transpose_a, p.transpose_b, p.m,     p.n,
                         p.k,       p.stride_a,       p.stride_b,    p.stride_c,    p.batch, p.bias != nullptr};
    auto found = planned_products.find(key);
    if (found == planned_products.end()) found = planned_products.emplace(key, plan(p)).first;
    const PlannedProduct& planned = found->second;
    algorithm = planned.name;
    if (planned.biased) set_bias(planned, p);
    const float one = 1, zero = 0;
    void* const work = grown(device, workspace, static_cast<std::int64_t>(planned.workspace));
    check(cublasLtMatmul(product_handle(), planned.description.get(), &one, p.b, planned.b.get(), p.a, planned.a.get(), &zero,
                         p.c, planned.c.get(), p.c, planned.c.get(), &planned.algorithm, work, planned.workspace, stream),
          "matrix product");
    return planned.biased;
  }

  static void set_bias(const PlannedProduct& planned, const Product& p) {
    if (p.bias == nullptr) return;
    check(cublasLtMatmulDescSetAttribute(planned.description.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p.bias, sizeof(p.bias)),
          "cuBLASLt bias");
  }

  // Plans a product that includes the bias if the library has an algorithm for that.
  PlannedProduct plan(const Product& p) {
    if (std::optional<PlannedProduct> whole = planned_as(p)) return std::move(*whole);
    if (std::optional<PlannedProduct> bare = planned_as(without_epilogue(p))) {
      bare->biased = false;
      return std::move(*bare);
    }
    throw Error{ErrorCode::unsupported, "cuBLASLt", "has no algorithm for a matrix product on this device",
                "use " + option("device") + " cpu"};
  }

  std::optional<PlannedProduct> planned_as(const Product& p) {
    cublasLtMatmulDesc_t raw = nullptr;
    check(cublasLtMatmulDescCreate(&raw, compute_type(precision), CUDA_R_32F), "cuBLASLt product");
    PlannedProduct planned{ProductDescription(raw), nullptr, nullptr, nullptr, {}, 0, true, {}};
    // Row-major C = A B is column-major C' = B' A', and a row-major matrix is a column-major transposed one.
    const cublasOperation_t first = p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, second = p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof(first)), "cuBLASLt product");
    check(cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof(second)), "cuBLASLt product");
    const cublasLtEpilogue_t epilogue = epilogue_of(p);
    check(cublasLtMatmulDescSetAttribute(raw, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)), "cuBLASLt epilogue");
    set_bias(planned, p);  // the heuristic checks its alignment
    planned.b = p.transpose_b ? layout_of(p.k, p.n, p.stride_b, p.batch) : layout_of(p.n, p.k, p.stride_b, p.batch);
    planned.a = p.transpose_a ? layout_of(p.m, p.k, p.stride_a, p.batch) : layout_of(p.k, p.m, p.stride_a, p.batch);
    planned.c = layout_of(p.n, p.m, p.stride_c, p.batch);
    cublasLtMatmulPreference_t raw_preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&raw_preference), "cuBLASLt preference");
    const Preference preference(raw_preference);
    check(cublasLtMatmulPreferenceSetAttribute(raw_preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kProductWorkspace,
                                               sizeof(kProductWorkspace)),
          "cuBLASLt preference");
    const auto [of_a, of_b, of_c, of_bias] = alignments_of(p);
    const std::pair<cublasLtMatmulPreferenceAttributes_t, std::uint32_t> alignments[] = {
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, of_b},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, of_a},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, of_c},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, of_c}};
    for (const auto& [attribute, bytes] : alignments)
      check(cublasLtMatmulPreferenceSetAttribute(raw_preference, attribute, &bytes, sizeof(bytes)), "cuBLASLt alignment");
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(product_handle(), raw, planned.b.get(), planned.a.get(), planned.c.get(), planned.c.get(),
                                       raw_preference, 1, &best, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && found == 0)) return std::nullopt;
    if (status != CUBLAS_STATUS_SUCCESS && p.bias != nullptr) return std::nullopt;  // it may succeed without the bias
    check(status, "cuBLASLt heuristic");
    planned.algorithm = best.algo;
    planned.workspace = best.workspaceSize;
    planned.name = name_of(best.algo);
    return planned;
  }

  // The planned convolution; null if cuDNN has no algorithm for this many images that fits into the workspace, or if the device
  // has too little memory for the plan.
  const PlannedConvolution* planned(Device& device, const Convolution& c, std::int64_t images) {
    const ConvolutionKey key = key_of(c, images, precision);
    auto found = planned_convolutions.find(key);
    try {
      if (found == planned_convolutions.end()) found = planned_convolutions.emplace(key, plan_and_say(c, images)).first;
      if (found->second) grown(device, workspace, static_cast<std::int64_t>(found->second->workspace()));
    } catch (const Error& error) {
      if (images == 1 || !(error.code == ErrorCode::unsupported || is_out_of_memory(error))) throw;
      found = planned_convolutions.insert_or_assign(key, nullptr).first;
    }
    return found->second.get();
  }

  std::unique_ptr<PlannedConvolution> plan_and_say(const Convolution& c, std::int64_t images) {
    auto planned = plan(c, images);
    if (tracing()) say_plan(c, images, *planned);
    return planned;
  }

  // Plans a convolution, including its epilogue if cuDNN can fuse it.
  std::unique_ptr<PlannedConvolution> plan(const Convolution& c, std::int64_t images) {
    if (may_fuse(c)) {
      try {
        return convolution_graphs().plan(c, images);
      } catch (const Error& error) {  // refusal_to_finish reports the reason
        if (error.code != ErrorCode::unsupported) throw;
      }
    }
    return plan_alone(convolution_handle(), c, images, precision);
  }

  ConvolutionGraphs& convolution_graphs() {
    if (!graphs) graphs.emplace(convolution_handle());
    return *graphs;
  }

  // Computes a convolution, in two parts if cuDNN cannot process all images at once. If cuDNN does not compute the epilogue,
  // runs a kernel of our own for it.
  void convolve(Device& device, const Convolution& c, std::int64_t images, const char* x, const char* residual, char* y) {
    const bool aligned = is_aligned(x) && is_aligned(residual) && is_aligned(y);
    const Convolution asked = aligned && refusal_to_finish(device, c).empty() ? c : without_epilogue(c);
    const PlannedConvolution* plan = planned(device, asked, images);
    if (plan == nullptr) {
      const std::int64_t half = first_part(images / 2), read = half * c.elements_read() * bytes_of(c.type),
                         written = half * c.elements_written() * bytes_of(c.type);
      convolve(device, c, half, x, residual, y);
      return convolve(device, c, images - half, x + read, residual == nullptr ? nullptr : residual + written, y + written);
    }
    algorithm = plan->algorithm();
    plan->run(convolutions, asked, x, residual, y, workspace.data());
    if (!plan->finishes()) finish(device, c, images, residual, y);
  }

  // The size of the first of two parts: a multiple of eight, so that the second part is aligned, too.
  static std::int64_t first_part(std::int64_t images) { return images < 8 ? images : images / 8 * 8; }

  // In float32, nothing is fused, because cuDNN's fused algorithms use tensor cores.
  bool may_fuse(const Convolution& c) const { return c.has_epilogue() && precision != Precision::float32; }

  // The reason why a convolution runs without its epilogue although the precision allows fusion; empty otherwise. It is
  // determined only once for each convolution.
  std::string refusal_to_finish(Device& device, const Convolution& c) {
    if (!may_fuse(c)) return {};
    const ConvolutionKey key = key_of(c, 0, precision);
    auto found = refusals.find(key);
    if (found == refusals.end())
      found = refusals.emplace(key, refusal_of(device, convolution_handle(), convolution_graphs(), c)).first;
    return found->second;
  }

  static bool is_aligned(const char* images) { return reinterpret_cast<std::uintptr_t>(images) % kGraphAlignment == 0; }
};

DeviceCount count_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  (void)cudaGetLastError();
  if (status == cudaSuccess && count > 0) return {count, ""};
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
    return {0, "no CUDA device was found (no NVIDIA driver is installed)"};
  return {0, std::string("no CUDA device was found (") + cudaGetErrorString(status == cudaSuccess ? cudaErrorNoDevice : status) +
                 ")"};
}

Device::Device(int ordinal, Precision precision) : state_(std::make_unique<State>()) {
  const auto [count, reason] = count_devices();
  if (count == 0)
    throw Error{ErrorCode::resources, option("device"), "cannot be cuda: " + reason, "use " + option("device") + " cpu"};
  if (ordinal < 0 || ordinal >= count)
    throw Error{ErrorCode::resources, option("device"), "is CUDA device " + std::to_string(ordinal) + ", which does not exist",
                "use at most cuda:" + std::to_string(count - 1)};
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, ordinal), "CUDA device");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, ordinal), "CUDA device");
  const int capability = 10 * major + minor;
  const std::string kind =
      "CUDA device " + std::to_string(ordinal) + " of compute capability " + std::to_string(major) + "." + std::to_string(minor);
  if (capability < kOldest)
    throw Error{ErrorCode::resources, option("device"), "is " + kind + ", but 7.5 or higher is required",
                "use " + option("device") + " cpu"};
  if (capability < kNarrow && precision != Precision::float32) {
    throw Error{ErrorCode::resources, option("precision"),
                "is " + std::string(name_of(precision)) + ", which " + kind + " does not support",
                "use " + option("precision") + " float32"};
  }
  state_->ordinal = ordinal;
  state_->precision = precision;
  check(cudaSetDevice(ordinal), "CUDA device");
  for (cudaStream_t* stream : {&state_->stream, &state_->side})
    check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "CUDA stream");
  state_->current = state_->stream;
}

// Releases the workspace while the device still exists, because arrays release their memory through it.
Device::~Device() { state_->workspace = {}; }

void Device::use() { check(cudaSetDevice(state_->ordinal), "CUDA device"); }

void Device::set_precision(Precision precision) {
  if (precision != state_->precision) ++state_->epoch;
  state_->precision = precision;
}

Precision Device::precision() const { return state_->precision; }

std::string Device::name() const {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, state_->ordinal), "CUDA device");
  return properties.name;
}

// This many operations take a millisecond at 50 TFLOP/s. A network has a few dozen kernels, and launching one takes
// microseconds.
double Device::busy_flops() const { return 5e10; }

std::int64_t Device::free_bytes() const {
  std::size_t available = 0, total = 0;
  check(cudaSetDevice(state_->ordinal), "CUDA device");
  check(cudaMemGetInfo(&available, &total), "CUDA memory");
  return static_cast<std::int64_t>(available);
}

void* Device::allocate(std::int64_t bytes) {
  void* memory = nullptr;
  check(cudaSetDevice(state_->ordinal), "CUDA device");
  check(cudaMalloc(&memory, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))), "CUDA memory");
  return memory;
}

// Waits for the device first, because cudaFree may return while work still uses the memory.
void Device::release(void* memory) noexcept {
  cudaSetDevice(state_->ordinal);
  cudaDeviceSynchronize();
  cudaFree(memory);
}

void Device::upload(void* to, const void* from, std::int64_t bytes) {
  if (bytes <= 0) return;
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, state_->current),
        "copy to the device");
  wait();
}

void Device::download(void* to, const void* from, std::int64_t bytes) {
  if (bytes <= 0) return;
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, state_->current),
        "copy from the device");
  wait();
}

void Device::copy(void* to, const void* from, std::int64_t bytes) {
  if (bytes <= 0) return;
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, state_->current),
        "copy on the device");
}

void Device::clear(void* memory, std::int64_t bytes) {
  if (bytes <= 0) return;
  check(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), state_->current), "CUDA memory");
}

void Device::fence(float*, std::vector<Zone>) {}

Recorded Device::record(const std::function<void()>& work) {
  const auto [graph, refusal] = captured(state_->stream, work);
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = graph == nullptr ? cudaSuccess : cudaGraphInstantiate(&executable, graph.get(), 0);
  (void)cudaGetLastError();  // otherwise the next launch would report it
  if (executable == nullptr) return {nullptr, refusal.empty() ? cudaGetErrorString(status) : refusal};
  return {std::make_shared<const Recording>(executable, state_->stream), ""};
}

void Device::replay(const Recording& recording) { check(cudaGraphLaunch(recording.graph, state_->stream), "kernels"); }

std::uint64_t Device::epoch() const { return state_->epoch; }

void Device::wait() { check(cudaStreamSynchronize(state_->current), "kernel"); }

void Device::on_side_stream(const std::function<void()>& work) {
  struct Back {
    State& state;
    ~Back() { state.current = state.stream; }
  } const back{*state_};
  state_->current = state_->side;
  work();
}

Event Device::mark() {
  const auto mark = std::make_shared<Mark>();
  check(cudaEventRecord(mark->event, state_->current), "CUDA event");
  return mark;
}

void Device::await(const Event& event) { check(cudaStreamWaitEvent(state_->current, event->event, 0), "CUDA event"); }

void Device::multiply(const Product& p) {
  if (p.m == 0 || p.n == 0 || p.batch == 0) return;
  if (p.k == 0) {
    for (std::int64_t i = 0; i < p.batch; ++i) clear(p.c + i * p.stride_c, p.m * p.n * static_cast<std::int64_t>(sizeof(float)));
    return finish(*this, p);
  }
  for (std::int64_t first = 0; first < p.batch; first += kMostProducts) {
    Product part = p;
    part.a += first * p.stride_a;
    part.b += first * p.stride_b;
    part.c += first * p.stride_c;
    part.batch = std::min(kMostProducts, p.batch - first);
    if (state_->multiply(*this, part)) part.bias = nullptr;
    if (part.bias != nullptr || part.activation != Activation::none) finish(*this, part);
  }
}

std::string Device::refusal(const Convolution& convolution) const {
  if (convolution.window.image.size() != 2) return "images do not have two axes";
  if (convolution.window.pad_low != convolution.window.pad_high) return "padding differs between the sides";
  try {
    (void)plan_alone(state_->convolution_handle(), convolution, 1, state_->precision);
    return {};
  } catch (const Error& error) {
    if (error.code != ErrorCode::unsupported) throw;
    return error.sentence();
  }
}

std::string Device::refusal_to_finish(const Convolution& c) { return state_->refusal_to_finish(*this, c); }

void Device::convolve(const Convolution& c, std::int64_t images, const void* x, const void* residual, void* y) {
  const std::int64_t most =
      State::first_part(std::max<std::int64_t>(1, kMostElements / std::max(c.elements_read(), c.elements_written())));
  const std::int64_t read = c.elements_read() * bytes_of(c.type), written = c.elements_written() * bytes_of(c.type);
  const auto *from = static_cast<const char*>(x), *added = static_cast<const char*>(residual);
  auto* to = static_cast<char*>(y);
  for (std::int64_t first = 0; first < images; first += most) {
    state_->convolve(*this, c, std::min(most, images - first), from + first * read,
                     added == nullptr ? nullptr : added + first * written, to + first * written);
  }
}

std::string Device::algorithm() const { return state_->algorithm; }

std::int64_t Device::launches() const { return state_->launches; }

double Device::timed(const std::function<void()>& work) {
  struct Moment {
    cudaEvent_t event = nullptr;
    Moment() { check(cudaEventCreate(&event), "CUDA event"); }
    Moment(const Moment&) = delete;
    Moment& operator=(const Moment&) = delete;
    ~Moment() { cudaEventDestroy(event); }
  } const start, end;
  check(cudaEventRecord(start.event, state_->stream), "CUDA event");
  work();
  check(cudaEventRecord(end.event, state_->stream), "CUDA event");
  check(cudaEventSynchronize(end.event), "CUDA event");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start.event, end.event), "CUDA event");
  return 1e-3 * static_cast<double>(milliseconds);
}

void check_launch(Device& device) {
  ++device.state().launches;
  check(cudaGetLastError(), "kernel");
}

void* stream_of(Device& device) { return device.state().current; }

}  // namespace probust::cuda
