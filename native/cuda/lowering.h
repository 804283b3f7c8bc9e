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

// Lowers a graph to kernel calls. Values are stored as [lanes][elements], so that the elements of an example are contiguous, as
// cuDNN requires for images. The elements of a value are in one of two orders.
namespace probust::cuda {

/// The order of the elements of a value: row-major or, for images [N, C, spatial...], channels-last, which the library's
/// convolutions require.
enum class Order : std::uint8_t { plain, channels_last };

/// How a value is stored.
struct Form {
  Order order = Order::plain;
  Type type = Type::float32;
  auto operator<=>(const Form&) const = default;
};

/// For each element of a value, in row-major order, its offset if the value is stored in this order.
std::vector<std::int64_t> positions(const Shape& shape, Order order);

/// The memory of a value or of part of one: a graph's input, a constant, or a range of the arena.
struct Storage {
  Extent extent = Extent::example;
  std::int64_t elements = 0;
  Type type = Type::float32;
  int input = -1;                  ///< the number of the graph's input; -1 if the storage is not an input
  const void* constant = nullptr;  ///< the constant on the device; null if the storage is not a constant

  std::int64_t bytes() const { return elements * bytes_of(type); }
};

/// The arguments of a kernel call.
struct Call {
  Device& device;
  Batch batch;
  std::span<const Storage> storages;
  std::span<void* const> addresses;  ///< the addresses of the storages
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
  double flops = 0;        ///< operations of products and convolutions, for each lane of the result
  std::int64_t bytes = 0;  ///< size of the constants that the step reads and that have no storage
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
  std::vector<int> outputs;  ///< the storages of the graph's outputs; their elements are in plain order
  std::vector<std::string> on_the_host;
  std::map<std::string, std::vector<std::string>> slow;             ///< nodes with slow kernels, by reason
  std::map<std::string, std::vector<std::string>> unfused;          ///< nodes whose epilogues the library cannot fuse, by reason
  std::map<std::vector<std::int32_t>, Array<std::int32_t>> tables;  ///< offsets that kernels read
  std::vector<Array<float>> constants;
  std::vector<Array<Bf16>> narrow_constants;
};

/// A chain of element-wise operators (kernels.h) whose operands are values of the graph, which have no address yet.
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

/// Which element-wise operators are fused, and how.
struct Chains {
  std::vector<ValueId> absorbed_by;  ///< [nodes] the operator whose chain includes this one; kNoValue if there is none
  std::vector<bool> masks;  ///< [nodes] whether the operator is a step that its readers compute themselves, from its operand
};

/// Lowers a graph node by node. It is passed to the lowering functions below.
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
  /// A storage that holds a value in this form: the value's own storage, or a copy, which is made only once.
  int in_form(ValueId id, Form form);
  int plain(ValueId id) { return in_form(id, {}); }
  int as_it_lies(ValueId id) { return in_form(id, form(id)); }
  /// The form that the library's convolutions require of images.
  Form image_form() const { return {Order::channels_last, image_type(device.precision())}; }

  /// Adds a step that writes value `id`. By default, `kind` is a kernel with the name of the operator.
  void emit(ValueId id, Form form, std::vector<int> reads, std::function<void(const Call&)> run, StepKind kind = {});
  /// Adds a step that writes something other than a value of the graph, and returns its storage.
  int emit_extra(Extent extent, std::int64_t elements, Type type, std::vector<int> reads, std::function<void(const Call&)> run,
                 StepKind kind);
  /// Lets the value share the storage of another value.
  void alias(ValueId id, int storage, Form form) { placed_[id] = {storage, form}; }

  /// A table of offsets on the device. Null if the offsets are 0, 1, 2, ..., identity - 1, because no table is then needed.
  const std::int32_t* table(const std::vector<std::int64_t>& offsets, std::int64_t identity = -1);
  const float* constant(std::span<const float> values);
  /// Values on the device, stored as this type.
  const void* constant(std::span<const float> values, Type type);

  /// Converts sources of elements (exec/programs/gather_offsets.h) to offsets for values stored in the given orders.
  static std::vector<std::int64_t> offsets(const std::vector<std::int64_t>& sources, const Shape& from, Order from_order,
                                           const Shape& to, Order to_order);

  /// Storages that are created only once per key, such as the one for the positions of the maxima in pooling windows.
  std::map<std::vector<std::int64_t>, int> made_once;
  /// The convolutions that the library cannot compute, with the reasons.
  std::map<ValueId, std::string> refused;
  /// The epilogues of products and convolutions.
  std::map<ValueId, Epilogue> epilogues;
  Chains chains;
  /// Chains of operators that other chains absorb; these operators emit no steps themselves.
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

  std::vector<ValueId> done_by_;  // by operator: the product whose epilogue includes it; kNoValue if there is none
  std::vector<Placed> placed_;
  std::map<std::tuple<int, Form, Shape>, int> moved_;  // copies of a storage in a different form; a reshaped value shares them
  Lowered lowered_;
};

/// The lowering function of an operator. It throws Error{unsupported} for unsupported cases.
using Lower = void (*)(DeviceLowering&, ValueId);
Lower lower_function(Op op);

// Each of these functions is defined in lower/, in the file for its family of operators, which has the same name as in ops/.
void lower_matmul(DeviceLowering&, ValueId);
void lower_conv(DeviceLowering&, ValueId);
void lower_pool(DeviceLowering&, ValueId);
void lower_elementwise(DeviceLowering&, ValueId);
void lower_move(DeviceLowering&, ValueId);
void lower_concat(DeviceLowering&, ValueId);
void lower_sum(DeviceLowering&, ValueId);
void lower_grid_sample(DeviceLowering&, ValueId);
void lower_lines(DeviceLowering&, ValueId);
/// Lowers an operator that has no kernel: its reference implementation is evaluated on the host.
void lower_on_the_host(DeviceLowering&, ValueId);

/// The convolutions that the library cannot compute, with the reasons. The reason is empty for a convolution without elements.
std::map<ValueId, std::string> refused_convolutions(const Device& device, const Graph& graph);
/// The products and convolutions that have an epilogue. Convolutions in `refused` have none.
std::map<ValueId, Epilogue> plan_epilogues(const Graph& graph, const std::map<ValueId, std::string>& refused);
/// The chains of element-wise operators outside epilogues.
Chains plan_chains(const Graph& graph, const std::map<ValueId, Epilogue>& epilogues);

}  // namespace probust::cuda
