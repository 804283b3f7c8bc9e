// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "cuda/device.h"
#include "cuda/kernels.h"
#include "probust/exec/programs/program.h"
#include "probust/graph/graph.h"

// Lowers a graph to kernel calls. Values are stored as [lanes][elements]: the elements of an example are contiguous, as cuDNN
// requires for images. The elements are in one of two orders.
namespace probust::cuda {

/// Images [N, C, spatial...] may be stored channels-last, as the library's convolutions require.
enum class Order : std::uint8_t { plain, channels_last };

/// How a value is stored.
struct Form {
  Order order = Order::plain;
  Type type = Type::float32;
  auto operator<=>(const Form&) const = default;
};

/// The offset of each element of a value, in row-major order of the elements.
std::vector<std::int64_t> positions(const Shape& shape, Order order);

/// The memory of a value or of part of one: a graph's input, a constant, or a range of the arena.
struct Storage {
  Extent extent = Extent::example;
  std::int64_t elements = 0;
  Type type = Type::float32;
  int input = -1;                  ///< the number of the graph's input; -1 if it is none
  const void* constant = nullptr;  ///< on the device

  std::int64_t bytes() const { return elements * bytes_of(type); }
};

/// The arguments of a kernel call.
struct Call {
  Device& device;
  Batch batch;
  std::span<const Storage> storages;
  std::span<void* const> addresses;  ///< of the storages
  std::span<const int> reads;
  int writes;

  Operand in(std::size_t k) const {
    const Storage& storage = storages[reads[k]];
    return {addresses[reads[k]], storage.elements, batch.lanes(storage.extent), storage.type};
  }
  Output out() const {
    const Storage& storage = storages[writes];
    return {addresses[writes], storage.elements, batch.lanes(storage.extent), storage.type};
  }
};

/// The name of a step and the amount of its work (trace.h).
struct StepKind {
  enum class By : std::uint8_t { kernel, library, host };
  std::string name;
  By by = By::kernel;
  double flops = 0;        ///< of products and convolutions, for each lane of the result
  std::int64_t bytes = 0;  ///< of constants without a storage
};

struct Step {
  std::vector<int> reads;
  int writes;
  std::function<void(const Call&)> run;
  StepKind kind;
};

/// The result of lowering a graph.
struct Lowered {
  std::vector<Storage> storages;
  std::vector<Step> steps;
  std::vector<int> outputs;  ///< storages; their elements are in plain order
  std::vector<std::string> on_the_host;
  std::map<std::string, std::vector<std::string>> slow;     ///< nodes with slow kernels, by the reason
  std::map<std::string, std::vector<std::string>> unfused;  ///< nodes whose epilogues the library cannot fuse, by the reason
  std::map<std::vector<std::int32_t>, Array<std::int32_t>> tables;  ///< offsets that kernels read
  std::vector<Array<float>> constants;
  std::vector<Array<Bf16>> narrow_constants;
};

/// A chain of element-wise operators (kernels.h) whose operands are still values of the graph.
struct ChainPlan {
  struct Operand {
    ValueId id;
    bool positive;  ///< whether the operand is read as a mask (Chain::Read::positive)
    bool operator==(const Operand&) const = default;
  };
  std::vector<Operand> operands;
  std::vector<Chain::Step> steps;
};

/// The bias, residual and activation of a product or convolution (device.h), and the graph operators that they replace.
struct Epilogue {
  std::vector<ValueId> operators;  ///< the replaced operators, in order; the product writes the value of the last one
  std::vector<float> bias;
  ValueId residual = kNoValue;
  Activation activation = Activation::none;
};

/// How element-wise operators are fused.
struct Chains {
  std::vector<ValueId> absorbed_by;  ///< [nodes] the operator whose chain includes this one; kNoValue if none
  std::vector<bool> masks;           ///< [nodes] whether the readers of a step compute it from its operand
};

/// Lowers node by node. Passed to the functions of the families below.
class DeviceLowering {
 public:
  DeviceLowering(Device& device, const Graph& graph);
  Lowered finish() &&;

  Device& device;
  const Graph& graph;

  const Node& node(ValueId id) const { return graph[id]; }

  /// How a value is stored.
  Form form(ValueId id) const { return placed_[id].form; }
  Order order(ValueId id) const { return form(id).order; }
  /// The storage that holds a value in a form: its own, or a copy that is made once.
  int in_form(ValueId id, Form form);
  int plain(ValueId id) { return in_form(id, {}); }
  int as_it_lies(ValueId id) { return in_form(id, form(id)); }
  /// The form of images for the library's convolutions.
  Form image_form() const { return {Order::channels_last, image_type(device.precision())}; }

  /// Adds a step that writes value `id`. Without `kind`, it is a kernel named after the operator.
  void emit(ValueId id, Form form, std::vector<int> reads, std::function<void(const Call&)> run, StepKind kind = {});
  /// Adds a step that writes something other than a graph value.
  int emit_extra(Extent extent, std::int64_t elements, Type type, std::vector<int> reads, std::function<void(const Call&)> run,
                 StepKind kind);
  /// Gives the value the storage of another one.
  void alias(ValueId id, int storage, Form form) { placed_[id] = {storage, form}; }

  /// The offsets as a table on the device. Null if they are 0, 1, 2, ... up to `identity`, because then no table is needed.
  const std::int32_t* table(const std::vector<std::int64_t>& offsets, std::int64_t identity = -1);
  const float* constant(std::span<const float> values);
  /// Values on the device, stored as this type.
  const void* constant(std::span<const float> values, Type type);

  /// Converts sources of elements (exec/programs/gather_offsets.h) to offsets for values stored in the given orders.
  static std::vector<std::int64_t> offsets(const std::vector<std::int64_t>& sources, const Shape& from, Order from_order,
                                           const Shape& to, Order to_order);

  /// Storages made once per key, such as the choices of pooling windows.
  std::map<std::vector<std::int64_t>, int> made_once;
  /// The convolutions that the library cannot compute, with the reasons.
  std::map<ValueId, std::string> refused;
  /// The epilogues of products and convolutions.
  std::map<ValueId, Epilogue> epilogues;
  Chains chains;
  /// The chains of operators that other chains absorb; these operators emit nothing themselves.
  std::map<ValueId, ChainPlan> pending;

  void note_on_the_host(Op op);
  void note_slow(ValueId id, const std::string& reason) { lowered_.slow[reason].push_back(name_of(id)); }
  void note_unfused(ValueId id, const std::string& reason) { lowered_.unfused[reason].push_back(name_of(id)); }

 private:
  struct Placed {
    int storage = -1;
    Form form;
  };
  int add(Storage storage);
  std::string name_of(ValueId id) const;
  int placed_storage(ValueId id);

  std::vector<ValueId> done_by_;  // the product whose epilogue includes an operator; kNoValue if none
  std::vector<Placed> placed_;
  std::map<std::tuple<int, Form, Shape>, int> moved_;  // storages that hold a storage in a different form; reshapes share one
  Lowered lowered_;
};

/// The operator's lowering function, which throws Error{unsupported} for unsupported cases.
using Lower = void (*)(DeviceLowering&, ValueId);
Lower lower_function(Op op);

// Each of these is defined in the file of its family of operators, named as in ops/.
void lower_matmul(DeviceLowering&, ValueId);
void lower_conv(DeviceLowering&, ValueId);
void lower_pool(DeviceLowering&, ValueId);
void lower_elementwise(DeviceLowering&, ValueId);
void lower_move(DeviceLowering&, ValueId);
void lower_concat(DeviceLowering&, ValueId);
void lower_sum(DeviceLowering&, ValueId);
void lower_grid_sample(DeviceLowering&, ValueId);
void lower_lines(DeviceLowering&, ValueId);
/// For an operator without a kernel: evaluates its reference implementation on the host.
void lower_on_the_host(DeviceLowering&, ValueId);

/// The convolutions that the library cannot compute, with the reasons. The reason is empty if the convolution has no elements.
std::map<ValueId, std::string> refused_convolutions(const Device& device, const Graph& graph);
/// The products and convolutions that have an epilogue. Convolutions in `refused` have none.
std::map<ValueId, Epilogue> plan_epilogues(const Graph& graph, const std::map<ValueId, std::string>& refused);
/// The chains of element-wise operators outside of epilogues.
Chains plan_chains(const Graph& graph, const std::map<ValueId, Epilogue>& epilogues);

}  // namespace probust::cuda
