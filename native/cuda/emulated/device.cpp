// SPDX-License-Identifier: MIT
// A device emulated on the CPU for tests: kernels are loops, and products and convolutions are plain sums. It is strict: errors
// that would show on a GPU, but could go unnoticed here, produce NaN or throw.
#include "cuda/device.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "cuda/emulated/control.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "probust/base/error.h"

namespace probust::cuda {

using Work = std::function<void()>;

struct Mark {
  Stream stream;
  std::int64_t asked;
};

constexpr std::uint32_t kMark = 0x7fb5c0de;  // a NaN pattern that no computation produces

void mark_zone(float* first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(first + i, &kMark, sizeof(kMark));
}

// Throws std::logic_error if a zone was written to. It does not throw Error, which callers would handle.
void check_zone(const float* first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, first + i, sizeof(bits));
    if (bits != kMark) throw std::logic_error("work wrote beyond its memory");
  }
}

// The zones of each memory block that work must not write to.
struct Fences {
  std::map<float*, std::vector<Zone>> of;

  void check() const {
    for (const auto& [block, zones] : of) {
      for (const Zone& zone : zones) check_zone(block + zone.first, zone.count);
    }
  }
};

// The work that was submitted to a stream: the remaining pieces, and the numbers of submitted and of finished pieces.
struct Asked {
  std::deque<Work> left;
  std::int64_t asked = 0, done = 0;

  void do_until(std::int64_t end, const Fences& fences) {
    while (done < end) {
      const Work work = std::move(left.front());
      left.pop_front();
      ++done;
      work();
      fences.check();
    }
  }
};

struct Recording {
  std::uint64_t epoch = 0;
  std::vector<Work> work;
};

struct Device::State {
  State(int number, Precision of) : ordinal(number), precision(of) {}

  int ordinal;
  Precision precision;
  std::uint64_t epoch = 0;
  std::int64_t launches = 0;
  Array<float> workspace;           // for convolutions: the sums of one image
  Recording* recorded = nullptr;    // null unless recording
  const char* forbidden = nullptr;  // what was forbidden while recording, found in a function that cannot throw; null if nothing
  Stream current = Stream::main;
  std::map<Stream, Asked> streams;
  Fences fences;

  // Throws std::logic_error rather than an Error, which callers would handle.
  void forbid_while_recording(const char* what) const {
    if (recorded != nullptr) throw std::logic_error(std::string(what) + " while recording");
  }
  void forbid_on_the_side(const char* what) const {
    if (current == Stream::side) throw std::logic_error(std::string(what) + " on the side");
  }
  void wait_for(Stream stream) { streams[stream].do_until(streams[stream].asked, fences); }
};

namespace {

constexpr std::int64_t kPlenty = std::int64_t{1} << 32;

// The settings that tests make for a device, and the quantities that they can measure.
struct Emulation {
  std::atomic<std::int64_t> in_use{0}, limit{kPlenty}, work{0};
  std::atomic<std::chrono::microseconds> delay{};
};

Emulation& emulation_of(int ordinal) {
  static std::array<Emulation, 8> each;
  return each.at(static_cast<std::size_t>(ordinal));
}

std::atomic<int> g_devices{2};
std::atomic<Stream> g_dawdler{Stream::side};
std::atomic<bool> g_refuses{false}, g_refuses_convolutions{false}, g_refuses_epilogues{false};
std::atomic<std::int64_t> g_replays{0};
std::atomic<double> g_busy{0};

// An operand rounded as by a tensor core: to nearest, with 11 (tf32) or 8 (bf16) significant bits.
float rounded(float value, Precision precision) {
  if (precision == Precision::bf16) return widened(narrowed(value));
  if (precision == Precision::float32 || !std::isfinite(value)) return value;
  constexpr std::uint32_t kUnit = 1U << 13;
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  return __builtin_bit_cast(float, (bits + kUnit / 2) & ~(kUnit - 1));
}

}  // namespace

DeviceCount count_devices() { return {g_devices, ""}; }

void have_devices(int count) { g_devices = count; }

Device::Device(int ordinal, Precision precision) : state_(std::make_unique<State>(ordinal, precision)) {
  if (ordinal < 0 || ordinal >= count_devices().count)
    throw Error{ErrorCode::resources, option("device"), "is device " + std::to_string(ordinal) + ", which does not exist",
                "use cuda:0"};
}

Device::~Device() { state_->workspace = {}; }

void Device::use() {}

void Device::set_precision(Precision precision) {
  if (precision != state_->precision) ++state_->epoch;
  state_->precision = precision;
}

double Device::busy_flops() const { return g_busy; }

Precision Device::precision() const { return state_->precision; }

std::string Device::name() const { return "emulated"; }

// Each block has a header, with its size and a guard zone, and a trailer that is a guard zone. Guard zones must not be written
// to. The total size of all blocks is global.
constexpr std::size_t kHeader = 128, kTrailer = 64;
constexpr std::int64_t kFrontZone = 16, kBackZone = kTrailer / sizeof(float);  // floats
constexpr std::int64_t kQuarantine = std::int64_t{64} << 20;                   // bytes
std::atomic<std::int64_t> g_in_use{0}, g_most_in_use{0}, g_limit{kPlenty};

void limit_memory(std::int64_t bytes) { g_limit = bytes; }

std::int64_t most_memory_held() { return g_most_in_use.exchange(g_in_use); }

void leave_memory(int ordinal, std::int64_t bytes) {
  Emulation& own = emulation_of(ordinal);
  own.limit = own.in_use + bytes;
}

std::int64_t Device::free_bytes() const {
  const Emulation& own = emulation_of(state_->ordinal);
  return std::min(g_limit - g_in_use, own.limit - own.in_use);
}

namespace {

// Keeps released blocks until newer ones take their place in the quarantine.
void quarantine(char* block, std::int64_t bytes) {
  static std::mutex mutex;
  static auto& blocks = *new std::deque<std::pair<char*, std::int64_t>>();  // never destroyed, like the blocks
  static std::int64_t held = 0;
  const std::lock_guard lock(mutex);
  blocks.emplace_back(block, bytes);
  held += bytes;
  while (held > kQuarantine) {
    std::free(blocks.front().first);
    held -= blocks.front().second;
    blocks.pop_front();
  }
}

}  // namespace

// Fills the memory with NaN, so that tests detect reads of uninitialised memory.
void* Device::allocate(std::int64_t bytes) {
  state_->forbid_while_recording("allocation");
  if (bytes > free_bytes()) throw out_of_memory("is too large for the device");
  auto* const block =
      static_cast<char*>(std::aligned_alloc(64, (kHeader + static_cast<std::size_t>(bytes) + kTrailer + 63) / 64 * 64));
  if (block == nullptr) throw out_of_memory("is too large for the device");
  g_in_use += bytes;
  emulation_of(state_->ordinal).in_use += bytes;
  g_most_in_use = std::max<std::int64_t>(g_most_in_use, g_in_use);
  std::memcpy(block, &bytes, sizeof(bytes));
  std::memset(block + kHeader, 0xff, static_cast<std::size_t>(bytes));
  mark_zone(reinterpret_cast<float*>(block + kHeader) - kFrontZone, kFrontZone);
  mark_zone(reinterpret_cast<float*>(block + kHeader + bytes), kBackZone);
  return block + kHeader;
}

// Fills the block with NaN and quarantines it, so that tests detect reads after the release, and writes are harmless.
void Device::release(void* memory) noexcept {
  if (state_->recorded != nullptr) state_->forbidden = "release";
  for (const Stream stream : {Stream::main, Stream::side}) state_->wait_for(stream);  // as a GPU does
  auto* const block = static_cast<char*>(memory) - kHeader;
  std::int64_t bytes = 0;
  std::memcpy(&bytes, block, sizeof(bytes));
  g_in_use -= bytes;
  emulation_of(state_->ordinal).in_use -= bytes;
  state_->fences.of.erase(static_cast<float*>(memory));
  check_zone(static_cast<const float*>(memory) - kFrontZone, kFrontZone);  // an exception here ends the program, so tests fail
  check_zone(reinterpret_cast<const float*>(static_cast<const char*>(memory) + bytes), kBackZone);
  if (bytes > kQuarantine / 4) return std::free(block);
  std::memset(memory, 0xff, static_cast<std::size_t>(bytes));
  quarantine(block, bytes);
}

void Device::upload(void* to, const void* from, std::int64_t bytes) {
  state_->forbid_while_recording("copy to the device");
  state_->wait_for(state_->current);
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void Device::download(void* to, const void* from, std::int64_t bytes) {
  state_->forbid_while_recording("copy from the device");
  state_->wait_for(state_->current);
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void Device::copy(void* to, const void* from, std::int64_t bytes) {
  if (bytes > 0) submit(*this, [=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
}

void Device::clear(void* memory, std::int64_t bytes) {
  if (bytes > 0) submit(*this, [=] { std::memset(memory, 0, static_cast<std::size_t>(bytes)); });
}

void Device::wait() {
  state_->forbid_while_recording("wait");
  state_->wait_for(state_->current);
}

// Fences take effect in order with other work, even in recordings.
void Device::fence(float* block, std::vector<Zone> zones) {
  submit(*this, [block, zones = std::move(zones), fences = &state_->fences] {
    for (const Zone& zone : zones) mark_zone(block + zone.first, zone.count);
    fences->of[block] = zones;
  });
}

void Device::on_side_stream(const Work& work) {
  state_->forbid_while_recording("side stream");
  state_->forbid_on_the_side("side stream");
  state_->current = Stream::side;
  try {
    work();
  } catch (...) {
    state_->current = Stream::main;
    throw;
  }
  state_->current = Stream::main;
}

Event Device::mark() {
  state_->forbid_while_recording("event");
  return std::make_shared<const Mark>(Mark{state_->current, state_->streams[state_->current].asked});
}

// Does the work of the other stream up to the event. If the other stream is not delayed, it has already done all its work.
void Device::await(const Event& event) {
  state_->forbid_while_recording("event");
  if (event->stream != state_->current) state_->streams[event->stream].do_until(event->asked, state_->fences);
}

void let_dawdle(Stream stream) { g_dawdler = stream; }

void slow_down(int ordinal, std::chrono::microseconds delay) { emulation_of(ordinal).delay = delay; }

std::int64_t work_of(int ordinal) { return emulation_of(ordinal).work; }

void submit(Device& device, Work work) {
  Device::State& state = device.state();
  if (state.recorded != nullptr) return state.recorded->work.push_back(std::move(work));
  Emulation& own = emulation_of(state.ordinal);
  ++own.work;
  std::this_thread::sleep_for(own.delay.load());
  Asked& stream = state.streams[state.current];
  stream.left.push_back(std::move(work));
  ++stream.asked;
  if (state.current != g_dawdler) state.wait_for(state.current);
}

void launch(Device& device, Work work) {
  ++device.state().launches;
  submit(device, std::move(work));
}

std::string Device::algorithm() const { return "loops"; }

std::int64_t Device::launches() const { return state_->launches; }

double Device::timed(const Work& work) {
  state_->forbid_while_recording("timing");
  wait();
  const auto start = std::chrono::steady_clock::now();
  work();
  wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void refuse_recordings(bool refuse) { g_refuses = refuse; }

void be_busy_with(double flops) { g_busy = flops; }

void refuse_convolutions(bool refuse) { g_refuses_convolutions = refuse; }

void refuse_epilogues(bool refuse) { g_refuses_epilogues = refuse; }

std::int64_t replays_so_far() { return g_replays; }

Recorded Device::record(const Work& work) {
  state_->forbid_while_recording("recording");
  state_->forbid_on_the_side("recording");
  if (g_refuses) return {nullptr, "the test refuses"};
  const auto recording = std::make_shared<Recording>(Recording{state_->epoch, {}});
  state_->recorded = recording.get();
  try {
    work();
  } catch (...) {
    state_->recorded = nullptr;
    state_->forbidden = nullptr;
    throw;
  }
  state_->recorded = nullptr;
  if (const char* what = std::exchange(state_->forbidden, nullptr))
    throw std::logic_error(std::string(what) + " while recording");
  return {recording, ""};
}

void Device::replay(const Recording& recording) {
  if (recording.epoch != state_->epoch) throw std::logic_error("replay of what was recorded for other workspaces");
  ++g_replays;
  for (const Work& one : recording.work) submit(*this, one);
}

std::uint64_t Device::epoch() const { return state_->epoch; }

namespace {

void multiply_now(const Product& p, Precision precision) {
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    const float *a = p.a + batch * p.stride_a, *b = p.b + batch * p.stride_b;
    float* c = p.c + batch * p.stride_c;
    for (std::int64_t i = 0; i < p.m; ++i) {
      std::fill_n(c + i * p.n, p.n, 0.0F);
      for (std::int64_t l = 0; l < p.k; ++l) {
        const float factor = rounded(p.transpose_a ? a[l * p.m + i] : a[i * p.k + l], precision);
        for (std::int64_t j = 0; j < p.n; ++j)
          c[i * p.n + j] += factor * rounded(p.transpose_b ? b[j * p.k + l] : b[l * p.n + j], precision);
      }
    }
  }
}

}  // namespace

void Device::multiply(const Product& p) {
  state_->forbid_on_the_side("product");
  submit(*this, [p, precision = state_->precision] { multiply_now(p, precision); });
  finish(*this, p);
}

// Refuses the convolutions that cuDNN's descriptors cannot represent.
std::string Device::refusal(const Convolution& convolution) const {
  if (g_refuses_convolutions) return "the test refuses";
  if (convolution.window.image.size() != 2) return "images do not have two axes";
  return convolution.window.pad_low == convolution.window.pad_high ? "" : "padding differs between the sides";
}

std::string Device::refusal_to_finish(const Convolution&) { return g_refuses_epilogues ? "the test refuses" : ""; }

namespace {

// Convolves one image [H, W, C] with a filter [O, kh, kw, C / groups], the layouts of cuDNN. Evaluates the trilinear form of
// ops/conv.cpp, in which the result takes the place of one of the three factors.
void convolve_one(const Convolution& convolution, Precision precision, const float* filter, const float* x, float* sums) {
  const Window& w = convolution.window;
  const Shape output = w.output();
  const std::int64_t in = convolution.in_channels, out = convolution.out_channels, in_group = in / w.groups,
                     out_group = out / w.groups;
  const auto term = [&](std::int64_t at_image, std::int64_t at_filter, std::int64_t at_output) {
    const std::int64_t from = convolution.transposed ? at_output : at_image, to = convolution.transposed ? at_image : at_output;
    sums[to] += rounded(filter[at_filter], precision) * rounded(x[from], precision);
  };
  for (std::int64_t q = 0; q < output[0] * output[1]; ++q) {
    for (std::int64_t t = 0; t < w.kernel[0] * w.kernel[1]; ++t) {
      const std::int64_t row = q / output[1] * w.stride[0] - w.pad_low[0] + t / w.kernel[1] * w.dilation[0],
                         column = q % output[1] * w.stride[1] - w.pad_low[1] + t % w.kernel[1] * w.dilation[1];
      if (row < 0 || row >= w.image[0] || column < 0 || column >= w.image[1]) continue;
      for (std::int64_t o = 0; o < out; ++o) {
        for (std::int64_t i = 0; i < in_group; ++i) {
          term((row * w.image[1] + column) * in + o / out_group * in_group + i,
               (o * w.kernel[0] * w.kernel[1] + t) * in_group + i, q * out + o);
        }
      }
    }
  }
}

std::vector<float> floats(Numbers numbers, std::int64_t first, std::int64_t count) {
  std::vector<float> result(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) result[i] = numbers[first + i];
  return result;
}

// Computes a convolution with its epilogue in float32 and rounds once, as fused algorithms do.
void convolve_now(const Convolution& c, Precision precision, std::int64_t images, const void* x, const void* residual, void* y,
                  float* sums) {
  const std::int64_t size_x = c.elements_read(), size_y = c.elements_written();
  const std::vector<float> filter = floats({c.filter, c.type}, 0, c.elements_of_filter());
  const MutableNumbers result{y, c.type};
  for (std::int64_t n = 0; n < images; ++n) {
    std::fill_n(sums, size_y, 0.0F);
    convolve_one(c, precision, filter.data(), floats({x, c.type}, n * size_x, size_x).data(), sums);
    for (std::int64_t e = 0; e < size_y; ++e) {
      if (c.bias != nullptr) sums[e] += c.bias[e % c.out_channels];
      if (c.has_residual) sums[e] += Numbers{residual, c.type}[n * size_y + e];
      result.set(n * size_y + e, c.activation == Activation::relu ? apply(Op::relu, sums[e], 0, 0) : sums[e]);
    }
  }
}

}  // namespace

// Sums are in a workspace that grows, as in cuDNN. Recordings contain its address, so growing it starts a new epoch.
void Device::convolve(const Convolution& c, std::int64_t images, const void* x, const void* residual, void* y) {
  state_->forbid_on_the_side("convolution");
  if (c.type != image_type(state_->precision)) throw std::logic_error("images of another precision");
  const bool whole = state_->precision != Precision::float32 && refusal_to_finish(c).empty();  // as in cuDNN
  const Convolution part = whole ? c : without_epilogue(c);
  if (c.elements_written() > state_->workspace.size()) ++state_->epoch;
  submit(*this, [=, precision = state_->precision, sums = state_->workspace.grown(*this, c.elements_written())] {
    convolve_now(part, precision, images, x, residual, y, sums);
  });
  if (!whole) finish(*this, c, images, residual, y);
}

}  // namespace probust::cuda
