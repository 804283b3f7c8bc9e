// SPDX-License-Identifier: MIT
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace probust::test {

/// A web server on a free port of the loopback device, one connection at a time.
class HttpServer {
 public:
  struct Answer {
    int status = 200;
    std::string body;
    std::size_t announced = 0;  ///< length in the header; 0: the body's own
    bool stalls = false;        ///< whether the connection stays open after the body, until the client or the server ends
  };
  /// Returns the response for a path such as "/train.bin". The second argument counts requests from 1.
  using Site = std::function<Answer(const std::string& path, int request)>;

  explicit HttpServer(Site site) : site_(std::move(site)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 8) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      return;
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() {
    over_ = true;
    shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    close(listener_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }
  int requests() const { return requests_; }

 private:
  void serve() {
    while (!over_) {
      const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      std::string request(4096, '\0');
      request.resize(static_cast<std::size_t>(std::max<ssize_t>(0, recv(connection, request.data(), request.size(), 0))));
      const std::size_t begin = request.find(' ') + 1;
      const Answer answer = site_(request.substr(begin, request.find(' ', begin) - begin), ++requests_);
      const std::size_t length = answer.announced > 0 ? answer.announced : answer.body.size();
      send_all(connection, "HTTP/1.1 " + std::to_string(answer.status) +
                               " X\r\nConnection: close\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n" + answer.body);
      while (answer.stalls && !over_ && is_open(connection)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      close(connection);
    }
  }

  static bool is_open(int connection) {
    char byte = 0;
    return recv(connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
  }

  static void send_all(int connection, const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t count = send(connection, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (count <= 0) return;
      at += static_cast<std::size_t>(count);
    }
  }

  Site site_;
  int listener_;
  int port_ = 0;
  std::atomic<int> requests_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace probust::test
