// SPDX-License-Identifier: MIT
//
// protozero's reader, made safe for damaged files. Include it in one source file only, before any other header that includes
// protozero.
#pragma once

#if defined(protozero_assert) || defined(PROTOZERO_PBF_READER_HPP)
#error "protozero is included already, without the changes below"
#endif

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <protozero/exception.hpp>

// Damaged files violate conditions that protozero merely asserts, such as that a field's wire type matches its number. So
// assertions throw an exception.
#define protozero_assert(condition) ((condition) ? static_cast<void>(0) : throw protozero::unknown_pbf_wire_type_exception{})
// protozero compares the length of a field with the number of remaining bytes as ptrdiff_t. If pointers have 32 bits, as in
// WebAssembly, lengths of 2 GB and more would become negative, and protozero would read out of bounds.
#define ptrdiff_t int64_t
#include <protozero/pbf_reader.hpp>
#undef ptrdiff_t
