// SPDX-License-Identifier: MIT
// A convolution is a sum over channels and taps of shifted images. The image is copied with zeros around it. In the copy, the
// cells of a row read neighbouring pixels at every tap, so a row of cells with all its lanes is one contiguous strip, and each
// tap is an offset into the copy. With a stride, columns (and rows) with the same remainder are copied next to each other, so
// that strips stay contiguous.
//
// A transposed convolution with stride s is s convolutions along each axis, one for each remainder (y + pad) mod s of an image
// pixel, each with its own taps.
#include "probust/exec/cpu/direct.h"

#include <algorithm>
#include <array>

#include "probust/exec/cpu/block.h"
#include "probust/exec/cpu/direct_tile.h"
#include "probust/exec/cpu/packed_forms.h"
#include "probust/ops/op.h"

namespace probust::cpu {
namespace {

using Constant = std::shared_ptr<const Tensor>;

// One axis: cell i is pixel first + i * spacing of the output, and its tap t reads pixel i * step + offsets[t] of the input.
struct Axis {
  std::int64_t cells = 0, first = 0, spacing = 1, step = 1, pixels = 0;
  std::vector<std::int64_t> taps, offsets;  // the positions of the taps in the filter, and the offsets at which they read
  // The copy along this axis. Place j with remainder r is pixel low + r + j * step of the input; tap t of cell i reads place i
  // + places[t] with the remainder remainders[remainder_of[t]].
  std::int64_t low = 0, more = 0;  // more: number of places minus number of cells
  std::vector<std::int64_t> remainders, remainder_of, places;

  void plan_copy() {
    if (offsets.empty()) return;
    low = *std::min_element(offsets.begin(), offsets.end());
    for (const std::int64_t offset : offsets) remainders.push_back((offset - low) % step);
    std::sort(remainders.begin(), remainders.end());
    remainders.erase(std::unique(remainders.begin(), remainders.end()), remainders.end());
    for (const std::int64_t offset : offsets) {
      remainder_of.push_back(std::find(remainders.begin(), remainders.end(), (offset - low) % step) - remainders.begin());
      places.push_back((offset - low) / step);
      more = std::max(more, places.back());
    }
  }
  std::int64_t width() const { return cells + more; }
  std::int64_t kinds() const { return static_cast<std::int64_t>(remainders.size()); }
};

// The window's parameters along one axis. The defaults are those of an axis that the image lacks.
struct WindowAxis {
  std::int64_t image = 1, output = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
};

Axis conv_axis(const WindowAxis& w) {
  Axis axis;
  axis.cells = w.output;
  axis.step = w.stride;
  axis.pixels = w.image;
  for (std::int64_t k = 0; k < w.kernel; ++k) {
    axis.taps.push_back(k);
    axis.offsets.push_back(k * w.dilation - w.pad);
  }
  axis.plan_copy();
  return axis;
}

// The axis of the image pixels y with (y + pad) mod stride = phase.
Axis transposed_axis(const WindowAxis& w, std::int64_t phase) {
  Axis axis;
  axis.first = ((phase - w.pad) % w.stride + w.stride) % w.stride;
  axis.cells = std::max<std::int64_t>(0, (w.image - axis.first + w.stride - 1) / w.stride);
  axis.spacing = w.stride;
  axis.pixels = w.output;
  for (std::int64_t k = 0; k < w.kernel; ++k) {
    if (k * w.dilation % w.stride != phase) continue;
    axis.taps.push_back(k);
    axis.offsets.push_back((axis.first + w.pad - k * w.dilation) / w.stride);
  }
  axis.plan_copy();
  return axis;
}

// One phase of a transposed convolution, or a whole convolution: its axes, and for each group the weights [block of
// outputs][channel][tap y][tap x][output of the block].
struct Phase {
  Axis y, x;
  std::vector<std::shared_ptr<const std::vector<float>>> weights;
  std::int64_t taps() const { return static_cast<std::int64_t>(y.taps.size() * x.taps.size()); }
};

// How to read a filter [filters, channels of a group, taps].
struct Filter {
  Constant constant;
  bool transposed;
  std::int64_t groups, kernel_x, kernel;

  std::int64_t filters() const { return constant->shape[0] / groups; }
  std::int64_t channels() const { return constant->shape[1]; }
  std::int64_t read() const { return transposed ? filters() : channels(); }
  std::int64_t written() const { return transposed ? channels() : filters(); }

  float at(std::int64_t group, std::int64_t in, std::int64_t out, std::int64_t tap) const {
    const std::int64_t o = transposed ? in : out, c = transposed ? out : in;
    return constant->data[((group * filters() + o) * channels() + c) * kernel + tap];
  }
};

using Packed = std::vector<float>;

std::shared_ptr<const Packed> pack(const Filter& filter, const Phase& phase, std::int64_t group) {
  std::vector<float> packed;
  packed.reserve(static_cast<std::size_t>(filter.read() * filter.written() * phase.taps()));
  std::int64_t first = 0;
  for (const std::int64_t block : output_blocks(filter.written())) {
    for (std::int64_t in = 0; in < filter.read(); ++in) {
      for (const std::int64_t y : phase.y.taps) {
        for (const std::int64_t x : phase.x.taps) {
          for (std::int64_t out = first; out < first + block; ++out)
            packed.push_back(filter.at(group, in, out, y * filter.kernel_x + x));
        }
      }
    }
    first += block;
  }
  return std::make_shared<const Packed>(std::move(packed));
}

class DirectConv {
 public:
  DirectConv(const Filter& filter, std::vector<Phase> phases, std::vector<float> bias)
      : read_(filter.read()),
        written_(filter.written()),
        groups_(filter.groups),
        blocks_(output_blocks(filter.written())),
        phases_(std::move(phases)),
        bias_(std::move(bias)) {
    for (Phase& phase : phases_) {
      for (std::int64_t group = 0; group < groups_; ++group) {
        std::vector<std::int64_t> order{filter.transposed ? 1 : 0, groups_, group};
        order.insert(order.end(), phase.y.taps.begin(), phase.y.taps.end());
        order.push_back(-1);
        order.insert(order.end(), phase.x.taps.begin(), phase.x.taps.end());
        phase.weights.push_back(
            shared_form<Packed>(filter.constant, Form::tiles, std::move(order), [&] { return pack(filter, phase, group); }));
      }
    }
  }

  // The bytes of scratch memory for an output of `pixels` pixels, in rows of `width` pixels.
  std::int64_t scratch_bytes(std::int64_t pixels, std::int64_t width, std::int64_t lanes) const {
    const std::vector<Layout> layouts = plan({read_, written_, lanes, pixels, width});
    return (largest(layouts, &Layout::copy_size) + largest(layouts, &Layout::sums_size)) * kFloat;
  }

  void operator()(const Call& call) const {
    if (phases_.empty()) return;
    const Shape &from = *call.in[0].shape, &to = *call.shape;
    const std::int64_t in_pixels = element_count({from.begin() + 2, from.end()}),
                       out_pixels = element_count({to.begin() + 2, to.end()});
    const Sizes sizes{read_, written_, call.lanes, out_pixels, to.back()};
    const std::vector<Layout> layouts = plan(sizes);
    const auto [copy, sums] =
        call.scratch(std::array{largest(layouts, &Layout::copy_size), largest(layouts, &Layout::sums_size)});
    const std::int64_t band = layouts[0].band, spacing = phases_[0].y.spacing,
                       rows = out_pixels / std::max<std::int64_t>(1, to.back());
    for (std::int64_t group = 0; group < from[0] * groups_; ++group) {
      const float* const in = call.in[0].data + group * read_ * in_pixels * call.lanes;
      float* const out = call.out + group * written_ * out_pixels * call.lanes;
      for (std::int64_t first = 0; first * spacing < rows; first += band) {
        call.stop_if_asked();
        for (std::size_t i = 0; i < phases_.size(); ++i)
          run_band(phases_[i], layouts[i], first, group % groups_, in, {out, copy, sums});
        finish_rows(call, sizes, out, first * spacing, std::min(rows, (first + band) * spacing));
      }
    }
  }

 private:
  struct Sizes {
    std::int64_t read, written, lanes, out_pixels, out_width;
  };

  // How a call divides one phase: bands of rows of cells, and blocks of channels. Bands have at most `most_rows` rows.
  struct Layout {
    Layout(const Phase& phase, const Sizes& all, bool alone, std::int64_t most_rows) : sizes(all) {
      const Axis &y = phase.y, &x = phase.x;
      const std::int64_t most = std::max<std::int64_t>(1, kMostTerms / std::max<std::int64_t>(1, phase.taps()));
      const std::int64_t blocks = std::max<std::int64_t>(1, (sizes.read + most - 1) / most);
      channels = (sizes.read + blocks - 1) / blocks;
      row = x.kinds() * x.width() * sizes.lanes;
      strip = x.cells * sizes.lanes;
      const std::int64_t copied = kCopyBytes / kFloat / std::max<std::int64_t>(1, channels * y.kinds() * row) - y.more;
      const std::int64_t summed = kSumBytes / kFloat / std::max<std::int64_t>(1, sizes.written * strip);
      band = std::clamp<std::int64_t>(blocks > 1 ? std::min(copied, summed) : copied, 1, std::max<std::int64_t>(1, most_rows));
      rows = band + y.more;
      // A plane must not be a multiple of a page: the channels of a pixel would then compete for the same cache lines.
      plane = (y.kinds() * rows * row + kBlock - 1) / kBlock * kBlock;
      if (plane / kBlock % 2 == 0) plane += kBlock;
      in_place = alone;
      joined = alone && x.kinds() == 1 && x.more == 0;
    }

    // The offsets, in the copy, of the terms of a block of channels.
    std::vector<std::int64_t> offsets_of(const Phase& phase) const {
      std::vector<std::int64_t> all;
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        for (std::size_t y = 0; y < phase.y.taps.size(); ++y) {
          for (std::size_t x = 0; x < phase.x.taps.size(); ++x) all.push_back(channel * plane + tap(phase, y, x));
        }
      }
      return all;
    }

    std::int64_t copy_size() const { return channels * plane + kPacket; }
    std::int64_t sums_size() const { return in_place ? 0 : sizes.written * band * strip; }
    std::int64_t tap(const Phase& phase, std::size_t y, std::size_t x) const {
      const std::int64_t line = phase.y.remainder_of[y] * rows + phase.y.places[y];
      return line * row + (phase.x.remainder_of[x] * phase.x.width() + phase.x.places[x]) * sizes.lanes;
    }

    Sizes sizes;
    std::int64_t channels, band, rows, row, plane, strip;
    std::vector<std::int64_t> offsets;
    bool in_place;  // whether the cells are all pixels in order
    bool joined;    // whether the rows of a band form one strip
  };

  static constexpr std::int64_t kMostTerms = 128, kCopyBytes = 384 << 10, kSumBytes = 512 << 10;

  // The layouts of all phases. All use the same bands of cells, so that a band of the output is complete after its last phase.
  std::vector<Layout> plan(const Sizes& sizes) const {
    const bool alone = phases_.size() == 1;
    std::int64_t band = 1;
    for (const Phase& phase : phases_) band = std::max(band, phase.y.cells);
    for (const Phase& phase : phases_) band = std::min(band, Layout(phase, sizes, alone, band).band);
    std::vector<Layout> layouts;
    for (const Phase& phase : phases_) {
      Layout& layout = layouts.emplace_back(phase, sizes, alone, band);
      layout.offsets = layout.offsets_of(phase);
    }
    return layouts;
  }

  static std::int64_t largest(const std::vector<Layout>& layouts, std::int64_t (Layout::*size)() const) {
    std::int64_t most = 0;
    for (const Layout& layout : layouts) most = std::max(most, (layout.*size)());
    return most;
  }

  struct Memory {
    float *out, *copy, *sums;
  };

  // Computes the band of cells that begins with row `first`.
  void run_band(const Phase& phase, const Layout& layout, std::int64_t first, std::int64_t group, const float* in,
                const Memory& memory) const {
    const Axis &y = phase.y, &x = phase.x;
    const std::int64_t lanes = layout.sizes.lanes, out_row = y.spacing * layout.sizes.out_width * lanes;
    const std::int64_t count = std::min(layout.band, y.cells - first);
    if (count <= 0) return;
    float* const pixels = memory.out + ((y.first + first * y.spacing) * layout.sizes.out_width + x.first) * lanes;
    const Strips to{
        layout.in_place ? pixels : memory.sums, layout.in_place ? layout.sizes.out_pixels * lanes : layout.band * layout.strip,
        layout.in_place ? out_row : layout.strip, layout.joined ? 1 : count, layout.joined ? count * layout.strip : layout.strip};
    std::int64_t channel = 0;
    do {
      const std::int64_t channels = std::min(layout.channels, layout.sizes.read - channel);
      copy_band(phase, layout, first, count, in, channel, channels, memory.copy);
      add_band(phase, layout, group, channel, std::span(layout.offsets).first(channels * phase.taps()), memory.copy, to);
      channel += channels;
    } while (channel < layout.sizes.read);
    if (!layout.in_place) scatter(phase, layout, count, memory.sums, pixels);
  }

  // Memory for sums: `count` strips of `length` floats.
  struct Strips {
    float* out;
    std::int64_t plane, row, count, length;
  };

  // Copies rows for the cells first .. first + count - 1 of some channels.
  static void copy_band(const Phase& phase, const Layout& layout, std::int64_t first, std::int64_t count, const float* in,
                        std::int64_t channel, std::int64_t channels, float* copy) {
    const Axis &y = phase.y, &x = phase.x;
    const std::int64_t lanes = layout.sizes.lanes, in_row = x.pixels * lanes, in_plane = y.pixels * in_row;
    for (std::int64_t c = 0; c < channels; ++c) {
      const float* const plane = in + (channel + c) * in_plane;
      for (std::int64_t kind = 0; kind < y.kinds(); ++kind) {
        for (std::int64_t j = 0; j < count + y.more; ++j) {
          const std::int64_t pixel = y.low + y.remainders[kind] + (first + j) * y.step;
          float* const to = copy + c * layout.plane + (kind * layout.rows + j) * layout.row;
          if (pixel < 0 || pixel >= y.pixels) {
            std::fill_n(to, layout.row, 0.0F);
          } else {
            copy_row(x, plane + pixel * in_row, lanes, to);
          }
        }
      }
    }
  }

  static void copy_row(const Axis& x, const float* from, std::int64_t lanes, float* to) {
    for (const std::int64_t remainder : x.remainders) {
      const std::int64_t start = x.low + remainder;  // the input's pixel at place 0
      // The range of places that are inside the image.
      const std::int64_t begin = std::clamp<std::int64_t>((-start + x.step - 1) / x.step, 0, x.width());
      const std::int64_t end = std::clamp<std::int64_t>((x.pixels - start + x.step - 1) / x.step, begin, x.width());
      std::fill_n(to, begin * lanes, 0.0F);
      if (x.step == 1) {
        std::copy_n(from + (start + begin) * lanes, (end - begin) * lanes, to + begin * lanes);
      } else {
        for (std::int64_t j = begin; j < end; ++j) std::copy_n(from + (start + j * x.step) * lanes, lanes, to + j * lanes);
      }
      std::fill_n(to + end * lanes, (x.width() - end) * lanes, 0.0F);
      to += x.width() * lanes;
    }
  }

  // Adds the terms of some channels to the sums of a band.
  void add_band(const Phase& phase, const Layout& layout, std::int64_t group, std::int64_t channel,
                std::span<const std::int64_t> offsets, const float* copy, const Strips& to) const {
    const std::int64_t terms = layout.sizes.read * phase.taps();
    const float* const bias = bias_.empty() ? nullptr : bias_.data() + group * written_;
    // Positions are processed in chunks, so that all blocks of outputs read a chunk while it is in the first-level cache.
    const std::int64_t chunk = blocks_.size() == 1 ? to.length : (written_ > 2 ? kTilePackets / 2 : kTilePackets) * kPacket;
    for (std::int64_t strip = 0; strip < to.count; ++strip) {
      for (std::int64_t at = 0; at < to.length; at += chunk) {
        const float* w = phase.weights[group]->data();
        std::int64_t output = 0;
        for (const std::int64_t block : blocks_) {
          const TileTerms from{offsets, copy + strip * layout.row + at, w + channel * phase.taps() * block};
          const TileSums sums{to.out + output * to.plane + strip * to.row + at, to.plane,
                              bias == nullptr ? nullptr : bias + output, channel > 0};
          add_outputs(block, from, sums, std::min(chunk, to.length - at));
          w += terms * block;
          output += block;
        }
      }
    }
  }

  // Calls finish() for rows begin .. end - 1 of the outputs of a group.
  void finish_rows(const Call& call, const Sizes& sizes, float* out, std::int64_t begin, std::int64_t end) const {
    const std::int64_t row = sizes.out_width * sizes.lanes;
    for (std::int64_t output = 0; output < written_; ++output)
      call.finish(out - call.out + output * sizes.out_pixels * sizes.lanes + begin * row, (end - begin) * row);
  }

  // Copies the sums of a band to `pixels`, the pixels of its cells.
  void scatter(const Phase& phase, const Layout& layout, std::int64_t count, const float* sums, float* pixels) const {
    const std::int64_t lanes = layout.sizes.lanes, out_row = phase.y.spacing * layout.sizes.out_width * lanes;
    for (std::int64_t output = 0; output < written_; ++output) {
      for (std::int64_t i = 0; i < count; ++i) {
        const float* const from = sums + (output * layout.band + i) * layout.strip;
        float* const to = pixels + output * layout.sizes.out_pixels * lanes + i * out_row;
        for (std::int64_t j = 0; j < phase.x.cells; ++j) std::copy_n(from + j * lanes, lanes, to + j * phase.x.spacing * lanes);
      }
    }
  }

  std::int64_t read_, written_, groups_;  // channels read and written per group, and the number of groups
  std::vector<std::int64_t> blocks_;
  std::vector<Phase> phases_;
  std::vector<float> bias_;
};

WindowAxis axis_of(const Window& window, const Shape& output, std::size_t axis) {
  return {window.image[axis],  output[axis],          window.kernel[axis],
          window.stride[axis], window.dilation[axis], window.pad_low[axis]};
}

std::vector<Axis> axes(const WindowAxis& w, bool transposed) {
  if (!transposed) return {conv_axis(w)};
  std::vector<Axis> phases;
  for (std::int64_t phase = 0; phase < w.stride; ++phase) {
    Axis axis = transposed_axis(w, phase);
    if (axis.cells > 0) phases.push_back(std::move(axis));
  }
  return phases;
}

}  // namespace

Product make_direct_conv(const Graph& graph, const Node& node, std::vector<float> bias) {
  const auto& window = std::get<Window>(node.attributes);
  if (window.image.empty() || window.image.size() > 2) return {};
  const Shape output = window.output();
  const bool transposed = node.op == Op::conv_transpose;
  const WindowAxis x = axis_of(window, output, window.image.size() - 1),
                   y = window.image.size() == 2 ? axis_of(window, output, 0) : WindowAxis{};
  const Filter filter{std::get<ConstantData>(graph[node.inputs[1]].attributes).tensor, transposed, window.groups, x.kernel,
                      x.kernel * y.kernel};
  std::vector<Phase> phases;
  for (const Axis& of_y : axes(y, transposed)) {
    for (const Axis& of_x : axes(x, transposed)) phases.push_back({of_y, of_x, {}});
  }
  const std::int64_t cells = phases.empty() ? 1 : phases[0].y.cells * phases[0].x.cells, bytes = filter.constant->size() * kFloat;
  const std::int64_t pixels = element_count({node.shape.begin() + 2, node.shape.end()}), width = node.shape.back();
  DirectConv kernel(filter, std::move(phases), std::move(bias));
  const auto scratch = [kernel, pixels, width](std::int64_t lanes) { return kernel.scratch_bytes(pixels, width, lanes); };
  return {std::move(kernel), std::max<std::int64_t>(1, cells), bytes, scratch};
}

}  // namespace probust::cpu
