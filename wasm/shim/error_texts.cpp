// SPDX-License-Identifier: MIT
// The C++ library refers to the C library's texts for error numbers, which nothing prints. They would take 1 kB of the first
// download, so this function replaces them.
#include <cstring>

extern "C" char* strerror(int) {
  static char text[] = "system error";
  return text;
}
