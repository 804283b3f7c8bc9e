// SPDX-License-Identifier: MIT
// The part of the library {fmt} that must be compiled once. Compiled here because the machine that runs a program may lack
// Debian's shared library of it.
#ifndef FMT_HEADER_ONLY
#include <fmt/format-inl.h>

#ifndef FMT_STATIC_THOUSANDS_SEPARATOR
template std::locale fmt::detail::locale_ref::get<std::locale>() const;
template fmt::detail::locale_ref::locale_ref(const std::locale&);
#endif
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref);
template fmt::detail::dragonbox::decimal_fp<float> fmt::detail::dragonbox::to_decimal<float>(float) noexcept;
template fmt::detail::dragonbox::decimal_fp<double> fmt::detail::dragonbox::to_decimal<double>(double) noexcept;
#endif
