// SPDX-License-Identifier: MIT
//
// protozero's reader, made safe for damaged files. Include it in one source file only, and before any other header that
// includes protozero.
#pragma once

#if defined(protozero_assert) || defined(PROTOZERO_PBF_READER_HPP)
#error "protozero is included already, without the changes below"
#endif

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <protozero/exception.hpp>

// Damaged files violate what protozero only asserts, e.g. a field whose wire type does not match its number; throw instead.
#define protozero_assert(condition) ((condition) ? static_cast<void>(0) : throw protozero::unknown_pbf_wire_type_exception{})
// It compares the length of a field with what is left as ptrdiff_t, in which lengths of 2 GB and more are negative if pointers
// have 32 bits, as in WebAssembly: then it would read anywhere.
#define ptrdiff_t int64_t
#include <protozero/pbf_reader.hpp>
#undef ptrdiff_t
