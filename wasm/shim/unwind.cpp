// SPDX-License-Identifier: MIT
// Makes typed exception handlers work in modules with threads that are built by clang 14, the compiler of Debian's Emscripten. A
// landing pad writes its number to the variable __wasm_lpad_context, calls _Unwind_CallPersonality, and reads from that variable
// which handler catches the exception. For this, the code that clang 14 generates uses a global variable, but libunwind uses a
// thread-local one, so only catch (...) would ever be entered. This file replaces these functions of libunwind with ones that use
// a global variable. Two threads must not select typed handlers at the same time; the worker threads of base/parallel.cpp do not,
// because their only handler is catch (...), which selects nothing.
#if defined(__EMSCRIPTEN_PTHREADS__) && __clang_major__ < 15
#include <cstdint>

namespace {

struct Exception {
  std::uint64_t kind;
  void (*cleanup)(int reason, Exception* exception);
};

struct Context {
  std::uintptr_t pad, table;  // written by the landing pad: its number, and the function's handler table
  std::uintptr_t selector;    // read by the landing pad
};

constexpr int kCleanupPhase = 2, kCaughtElsewhere = 1, kSelector = 1;

}  // namespace

extern "C" {

Context __wasm_lpad_context;

int __gxx_personality_wasm0(int version, int action, std::uint64_t kind, Exception* exception, Context* context);

int _Unwind_CallPersonality(Exception* exception) {
  __wasm_lpad_context.selector = 0;
  return __gxx_personality_wasm0(1, kCleanupPhase, exception->kind, exception, &__wasm_lpad_context);
}

int _Unwind_RaiseException(Exception* exception) { __builtin_wasm_throw(0, exception); }

void _Unwind_DeleteException(Exception* exception) {
  if (exception->cleanup != nullptr) exception->cleanup(kCaughtElsewhere, exception);
}

void _Unwind_SetGR(Context* context, int index, std::uintptr_t value) {
  if (index == kSelector) context->selector = value;
}
// The personality function subtracts 1 and then counts from 1, but `pad` counts from 0.
std::uintptr_t _Unwind_GetIP(Context* context) { return context->pad + 2; }
void _Unwind_SetIP(Context*, std::uintptr_t) {}
std::uintptr_t _Unwind_GetLanguageSpecificData(Context* context) { return context->table; }
std::uintptr_t _Unwind_GetRegionStart(Context*) { return 0; }
}
#endif
