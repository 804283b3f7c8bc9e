// SPDX-License-Identifier: MIT
#include "probust/exec/plan/composable_executor.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "probust/exec/forwarding_executor.h"

namespace probust {
namespace {

class ComposableExecutor final : public ForwardingExecutor {
 public:
  ComposableExecutor(std::unique_ptr<Executor> plain, Compose compose)
      : ForwardingExecutor(*plain), plain_(std::move(plain)), compose_(std::move(compose)) {}

  Result<ExecutorAnswer> answer(const ExecutorQuestion& question) override { return inner().answer(question); }

  Result<Executor*> after(const std::shared_ptr<const NoiseMap>& map) override {
    return guarded("the model", [&] {
      auto found = std::find_if(composed_.begin(), composed_.end(), [&](const Composed& each) { return each.map == map; });
      if (found != composed_.end() && found->executor.get() == last_) return last_;
      if (last_ != nullptr) last_->release();
      if (found == composed_.end()) {
        composed_.push_back({map, compose_(*map, &progress)});
        found = composed_.end() - 1;
      }
      return last_ = found->executor.get();
    });
  }

  void release() override {
    inner().release();
    if (last_ != nullptr) last_->release();
  }

 private:
  struct Composed {
    std::shared_ptr<const NoiseMap> map;
    std::unique_ptr<Executor> executor;
  };

  std::unique_ptr<Executor> plain_;
  Compose compose_;
  std::vector<Composed> composed_;
  Executor* last_ = nullptr;
};

}  // namespace

std::unique_ptr<Executor> composable(std::unique_ptr<Executor> plain, Compose compose) {
  return std::make_unique<ComposableExecutor>(std::move(plain), std::move(compose));
}

}  // namespace probust
