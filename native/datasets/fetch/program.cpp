// SPDX-License-Identifier: MIT
#include "datasets/fetch/program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "probust/base/text.h"

extern char** environ;  // NOLINT: no POSIX header declares it

namespace probust::datasets {
namespace {

constexpr std::size_t kSumBlock = std::size_t{1} << 18;

void close_end(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

// A pair of connected descriptors: one for this process and one for the program. Other programs do not inherit them.
struct Channel {
  int ours = -1, theirs = -1;

  // Uses a socket, because writing to it raises no signal if the program has ended, while writing to a pipe does.
  static Channel to_program() {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail();
    return {ends[0], ends[1]};
  }
  static Channel from_program() {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail();
    return {ends[0], ends[1]};
  }
  [[noreturn]] static void fail() {
    throw Error{ErrorCode::resources, "a pipe", std::string("cannot be opened: ") + std::strerror(errno), ""};
  }
};

// Everything that can be read from a descriptor, up to its end.
std::string drained(int descriptor) {
  std::string text;
  std::array<char, 4096> block{};
  for (ssize_t count = 1; count > 0 || (count < 0 && errno == EINTR);) {
    count = ::read(descriptor, block.data(), block.size());
    if (count > 0) text.append(block.data(), static_cast<std::size_t>(count));
  }
  return text;
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return printable(text.substr(text.rfind('\n') + 1));
}

}  // namespace

Program::Program(const std::vector<std::string>& command, const std::string& hint) {
  Channel in = Channel::to_program(), out = Channel::from_program(), err = Channel::from_program();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.theirs, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.theirs, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.theirs, STDERR_FILENO);
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));  // posix_spawn only reads
  words.push_back(nullptr);
  const int failed = posix_spawnp(&process_, words.front(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  for (int* theirs : {&in.theirs, &out.theirs, &err.theirs}) close_end(*theirs);
  input_ = in.ours;
  output_ = out.ours;
  messages_ = err.ours;
  if (failed == 0) return;
  for (int* ours : {&input_, &output_, &messages_}) close_end(*ours);
  throw Error{ErrorCode::unreadable, command.front(),
              failed == ENOENT ? "is not installed" : std::string("cannot be started: ") + std::strerror(failed), hint};
}

Program::~Program() {
  for (int* ours : {&input_, &output_, &messages_}) close_end(*ours);
  if (process_ < 0) return;
  kill(process_, SIGTERM);
  waitpid(process_, nullptr, 0);
}

void Program::write(Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(input_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // the exit status gives the reason
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

std::size_t Program::read(std::span<std::uint8_t> out, const StopToken* stop) {
  constexpr int kMilliseconds = 100;  // time between two checks of the stop token
  close_end(input_);
  for (;;) {
    stop_if_asked(stop);
    pollfd ready{output_, POLLIN, 0};
    if (poll(&ready, 1, kMilliseconds) <= 0) continue;
    const ssize_t count = ::read(output_, out.data(), out.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) return 0;
  }
}

Program::End Program::end() {
  close_end(input_);
  const std::string messages = drained(messages_);
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), last_line(messages)};
}

Md5::Md5() : program_({"md5sum"}, "install coreutils, which provides it") {}

std::string Md5::digits() {
  constexpr std::size_t kDigits = 32;
  std::string text;
  std::array<std::uint8_t, 256> block{};
  while (const std::size_t count = program_.read(block)) text.append(block.begin(), block.begin() + count);
  const Program::End end = program_.end();
  if (end.status != 0 || text.size() < kDigits)
    throw Error{ErrorCode::unreadable, "md5sum", "failed: " + end.messages, "check that it works"};
  return text.substr(0, kDigits);
}

std::string md5_of(const Stored& file, std::uint64_t at, std::uint64_t count, const StopToken* stop) {
  Md5 sum;
  for (std::uint64_t done = 0; done < count;) {
    stop_if_asked(stop);
    const Buffer block = file.read(at + done, std::min<std::uint64_t>(kSumBlock, count - done));
    sum.add(block.bytes);
    done += block.bytes.size();
  }
  return sum.digits();
}

}  // namespace probust::datasets
