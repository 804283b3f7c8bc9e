// SPDX-License-Identifier: MIT
//
// Runs other programs: curl, for downloads, and md5sum, for checksums.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "datasets/bytes.h"
#include "probust/base/stop.h"

namespace probust::datasets {

/// A child process that runs a program found via PATH. Its standard input and output are connected to this process.
class Program {
 public:
  /// Starts command[0] with the other words as its arguments. Throws Error{unreadable} with `hint` if there is no such program.
  Program(const std::vector<std::string>& command, const std::string& hint);
  /// Ends the program if it is still running.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Writes bytes to the program's standard input. They are lost if the program has ended.
  void write(Bytes bytes);

  /// Closes the program's input, and reads at least one byte of its output. Returns the number of bytes; 0 at the end. Throws
  /// Error{interrupted}.
  std::size_t read(std::span<std::uint8_t> out, const StopToken* stop = nullptr);

  struct End {
    int status;            ///< exit status; 128 + N if signal N ended it
    std::string messages;  ///< the last line that the program printed on stderr
  };
  /// Waits until the program has ended. Must be called after read() has returned 0.
  End end();

 private:
  pid_t process_ = -1;
  int input_ = -1, output_ = -1, messages_ = -1;  // this process's ends of the channels; -1: closed
};

/// The MD5 sum of bytes, computed by the program md5sum.
class Md5 {
 public:
  /// Throws Error{unreadable} if md5sum is not installed.
  Md5();
  void add(Bytes bytes) { program_.write(bytes); }
  /// The checksum as 32 hexadecimal digits. Must be called only once. Throws Error{unreadable} if md5sum failed.
  std::string digits();

 private:
  Program program_;
};

/// The MD5 sum of bytes [at, at + count) of a file. Throws the errors of `Md5` and Stored::read, and Error{interrupted}.
std::string md5_of(const Stored& file, std::uint64_t at, std::uint64_t count, const StopToken* stop = nullptr);

}  // namespace probust::datasets
