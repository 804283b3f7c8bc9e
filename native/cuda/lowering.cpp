// SPDX-License-Identifier: MIT
#include "cuda/lowering.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "probust/base/error.h"
#include "probust/ops/op.h"

namespace probust::cuda {
namespace {

constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max();

void require_small(const Node& node) {
  if (element_count(node.shape) <= kMostElements) return;
  throw Error{ErrorCode::unsupported, node.name.empty() ? "the model" : node.name,
              "has a value of shape " + to_string(node.shape) + ", which is too large for the device",
              "use " + option("device") + " cpu"};
}

}  // namespace

std::vector<std::int64_t> positions(const Shape& shape, Order order) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(element_count(shape)));
  std::iota(result.begin(), result.end(), 0);
  if (order == Order::plain || shape.size() < 3) return result;
  const std::int64_t channels = shape[1], cells = element_count({shape.begin() + 2, shape.end()});
  for (std::int64_t& e : result) {
    const std::int64_t cell = e % cells, channel = e / cells % channels, image = e / (cells * channels);
    e = (image * cells + cell) * channels + channel;
  }
  return result;
}

DeviceLowering::DeviceLowering(Device& on, const Graph& of)
    : device(on),
      graph(of),
      refused(refused_convolutions(on, of)),
      epilogues(plan_epilogues(of, refused)),
      chains(plan_chains(of, epilogues)),
      done_by_(of.nodes.size(), kNoValue),
      placed_(of.nodes.size()) {
  for (const auto& [product, epilogue] : epilogues) {
    for (const ValueId id : epilogue.operators) done_by_[id] = product;
  }
  int inputs = 0;
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    const Node& one = graph[id];
    require_small(one);
    if (one.op == Op::input) {
      placed_[id] = {add({one.extent, element_count(one.shape), Type::float32, inputs++, nullptr}), {}};
    } else if (one.op == Op::constant) {
      placed_[id].storage = -1;  // uploaded when a kernel needs it
    } else if (done_by_[id] != kNoValue) {
      placed_[id] = placed_[done_by_[id]];
    } else {
      lower_function(one.op)(*this, id);
    }
  }
  for (const ValueId id : graph.outputs) lowered_.outputs.push_back(plain(id));
}

Lowered DeviceLowering::finish() && { return std::move(lowered_); }

int DeviceLowering::add(Storage storage) {
  lowered_.storages.push_back(storage);
  return static_cast<int>(lowered_.storages.size()) - 1;
}

int DeviceLowering::placed_storage(ValueId id) {
  Placed& placed = placed_[id];
  if (placed.storage < 0) {
    const Tensor& value = constant_value(graph, id);
    placed.storage = add({Extent::constant, value.size(), Type::float32, -1, constant(value.data)});
  }
  return placed.storage;
}

int DeviceLowering::in_form(ValueId id, Form form) {
  const int storage = placed_storage(id);
  if (placed_[id].form == form) return storage;
  const Shape& shape = graph[id].shape;
  const auto from = positions(shape, placed_[id].form.order), to = positions(shape, form.order);
  if (from == to && placed_[id].form.type == form.type) return storage;
  const auto known = moved_.find({storage, form, shape});
  if (known != moved_.end()) return known->second;
  std::vector<std::int64_t> source(from.size());
  for (std::size_t e = 0; e < from.size(); ++e) source[to[e]] = from[e];
  const std::int32_t* where = table(source);
  const auto count = static_cast<std::int64_t>(source.size());
  const int copy = emit_extra(graph[id].extent, count, form.type, {storage},
                              [=](const Call& call) { move(call.device, call.in(0), where, nullptr, count, call.out()); },
                              {"copy in another form"});
  moved_[{storage, form, shape}] = copy;
  return copy;
}

void DeviceLowering::emit(ValueId id, Form form, std::vector<int> reads, std::function<void(const Call&)> run, StepKind kind) {
  const Node& one = graph[id];
  if (kind.name.empty()) kind.name = definition(one.op).name;
  placed_[id] = {emit_extra(one.extent, element_count(one.shape), form.type, std::move(reads), std::move(run), std::move(kind)),
                 form};
}

int DeviceLowering::emit_extra(Extent extent, std::int64_t elements, Type type, std::vector<int> reads,
                               std::function<void(const Call&)> run, StepKind kind) {
  const int storage = add({extent, elements, type, -1, nullptr});
  lowered_.steps.push_back({std::move(reads), storage, std::move(run), std::move(kind)});
  return storage;
}

const std::int32_t* DeviceLowering::table(const std::vector<std::int64_t>& offsets, std::int64_t identity) {
  if (identity == static_cast<std::int64_t>(offsets.size())) {
    bool same = true;
    for (std::size_t i = 0; same && i < offsets.size(); ++i) same = offsets[i] == static_cast<std::int64_t>(i);
    if (same) return nullptr;
  }
  std::vector<std::int32_t> narrow(offsets.begin(), offsets.end());
  auto& table = lowered_.tables[narrow];
  if (table.data() == nullptr) table = Array<std::int32_t>(device, narrow);
  return table.data();
}

const float* DeviceLowering::constant(std::span<const float> values) {
  return lowered_.constants.emplace_back(device, values).data();
}

const void* DeviceLowering::constant(std::span<const float> values, Type type) {
  if (type == Type::float32) return constant(values);
  std::vector<Bf16> narrow(values.size());
  std::transform(values.begin(), values.end(), narrow.begin(), narrowed);
  return lowered_.narrow_constants.emplace_back(device, narrow).data();
}

std::vector<std::int64_t> DeviceLowering::offsets(const std::vector<std::int64_t>& sources, const Shape& from, Order from_order,
                                                  const Shape& to, Order to_order) {
  const auto own = positions(from, from_order), out = positions(to, to_order);
  std::vector<std::int64_t> result(sources.size());
  for (std::size_t e = 0; e < sources.size(); ++e) result[out[e]] = sources[e] < 0 ? -1 : own[sources[e]];
  return result;
}

void DeviceLowering::note_on_the_host(Op op) {
  const std::string name(definition(op).name);
  auto& names = lowered_.on_the_host;
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::string DeviceLowering::name_of(ValueId id) const {
  const std::string& name = node(id).name;
  return name.empty() ? std::string(definition(node(id).op).name) : name;
}

namespace {

// The lowering functions of operators, except element-wise operators and moves.
constexpr std::pair<Op, Lower> kLower[] = {
    {Op::matmul, lower_matmul},
    {Op::conv, lower_conv},
    {Op::conv_transpose, lower_conv},
    {Op::conv_filter_grad, lower_conv},
    {Op::max_pool, lower_pool},
    {Op::max_scatter, lower_pool},
    {Op::max_gather, lower_pool},
    {Op::sum_pool, lower_pool},
    {Op::sum_unpool, lower_pool},
    {Op::grid_sample, lower_grid_sample},
    {Op::grid_sample_transpose, lower_grid_sample},
    {Op::select, lower_elementwise},
    {Op::relu_mean, lower_elementwise},
    {Op::relu_variance, lower_elementwise},
    {Op::normal_cdf, lower_elementwise},
    {Op::normal_density, lower_elementwise},
    {Op::reduce_sum, lower_sum},
    {Op::scatter_add, lower_sum},
    {Op::concat, lower_concat},
    {Op::softmax, lower_lines},
    {Op::log_softmax, lower_lines},
    {Op::top_index, lower_lines},
    {Op::take, lower_lines},
    {Op::put_add, lower_lines},
};

}  // namespace

Lower lower_function(Op op) {
  const OpDefinition& its = definition(op);
  if (its.max_inputs == 0) return nullptr;
  if (its.traits.unary != nullptr || its.traits.binary != nullptr) return lower_elementwise;
  if (const Lower lower = function_for(kLower, op)) return lower;
  return its.traits.moves ? lower_move : lower_on_the_host;
}

void lower_on_the_host(DeviceLowering& l, ValueId id) {
  const Node& node = l.node(id);
  l.note_on_the_host(node.op);
  std::vector<int> reads;
  std::vector<Shape> shapes;
  for (const ValueId input : node.inputs) {
    reads.push_back(l.plain(input));
    shapes.push_back(l.node(input).shape);
  }
  l.emit(id, {}, std::move(reads),
         [&op = definition(node.op), attributes = node.attributes, shapes, shape = node.shape](const Call& call) {
           std::vector<std::vector<float>> values;
           for (std::size_t k = 0; k < shapes.size(); ++k) {
             const Operand operand = call.in(k);
             values.emplace_back(static_cast<std::size_t>(operand.elements * operand.own));
             call.device.download(values[k].data(), operand.data, static_cast<std::int64_t>(values[k].size() * sizeof(float)));
           }
           const Output out = call.out();
           std::vector<float> result(static_cast<std::size_t>(out.elements * out.lanes));
           Tensor y(shape);
           for (std::int64_t lane = 0; lane < out.lanes; ++lane) {
             std::vector<Tensor> operands;
             std::vector<const Tensor*> pointers;
             for (std::size_t k = 0; k < shapes.size(); ++k) {
               const Operand operand = call.in(k);
               const auto first = values[k].begin() + lane % operand.own * operand.elements;
               operands.emplace_back(shapes[k], std::vector<float>(first, first + operand.elements));
             }
             pointers.reserve(operands.size());
             for (const Tensor& operand : operands) pointers.push_back(&operand);
             op.eval(attributes, pointers, y);
             std::copy(y.data.begin(), y.data.end(), result.begin() + lane * out.elements);
           }
           call.device.upload(out.data, result.data(), static_cast<std::int64_t>(result.size() * sizeof(float)));
         },
         {{}, StepKind::By::host});
}

}  // namespace probust::cuda
