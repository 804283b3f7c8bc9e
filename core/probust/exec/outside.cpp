// SPDX-License-Identifier: MIT
#include "probust/exec/outside.h"

#include <algorithm>
#include <cstring>

#include "probust/base/error.h"
#include "probust/base/transpose.h"
#include "probust/graph/simplify.h"

namespace probust {
namespace {

bool same(const Outside::Inputs& a, const Outside::Inputs& b) {
  return a.count == b.count && a.values.size() == b.values.size() &&
         std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(float)) == 0;
}

class OutsideProgram final : public Program {
 public:
  OutsideProgram(Outside& outside, const Graph& preparation, std::int64_t classes)
      : outside_(outside),
        prepare_(compile_cpu(simplify(preparation))),
        elements_(element_count(preparation[preparation.outputs[0]].shape)),
        classes_(classes) {}

  std::int64_t workspace_bytes(const Batch& batch) const override {
    return prepare_->workspace_bytes(batch) + 2 * elements_ * batch.examples * static_cast<std::int64_t>(sizeof(float));
  }

  void run(const Batch& batch, std::span<const float* const> inputs, std::span<float* const> outputs, Workspace& workspace,
           Reuse) const override {
    std::vector<float> lanes(static_cast<std::size_t>(elements_ * batch.examples));
    float* prepared = lanes.data();
    prepare_->run(batch, inputs, std::span(&prepared, 1), workspace);
    Outside::Inputs asked{batch.examples, std::vector<float>(lanes.size())};
    transpose(prepared, elements_, batch.examples, asked.values.data());
    transpose(outside_.logits(std::move(asked)).data(), batch.examples, classes_, outputs[0]);
  }

 private:
  Outside& outside_;
  std::unique_ptr<Program> prepare_;
  std::int64_t elements_, classes_;
};

}  // namespace

void Outside::resume() {
  if (wanting_) answers_.pop_back();  // not answered: it will be requested again
  wanting_ = false;
  for (Answer& answer : answers_) answer.used = false;
}

void Outside::answer(std::vector<float> logits, std::int64_t classes) {
  if (!wanting_) throw Error{ErrorCode::usage, "logits", "are not wanted", ""};
  const std::int64_t count = answers_.back().inputs.count;
  if (static_cast<std::int64_t>(logits.size()) != count * classes)
    throw Error{ErrorCode::usage, "logits", "are " + std::to_string(logits.size()) + " numbers",
                "give " + std::to_string(classes) + " for each of " + std::to_string(count) + " inputs"};
  answers_.back().logits = std::move(logits);
  wanting_ = false;
  passes_ += count;
}

const std::vector<float>& Outside::logits(Inputs inputs) {
  for (Answer& answer : answers_) {
    if (!same(answer.inputs, inputs)) continue;
    answer.used = true;
    return answer.logits;
  }
  // An attempt requests all earlier answers that it still needs before new ones, so unused answers can go.
  std::erase_if(answers_, [](const Answer& answer) { return !answer.used; });
  answers_.push_back({std::move(inputs), {}, true});
  wanting_ = true;
  throw Error{ErrorCode::usage, "run", "interrupted", ""};
}

std::unique_ptr<Program> outside_program(Outside& outside, const Graph& preparation, std::int64_t classes) {
  return std::make_unique<OutsideProgram>(outside, preparation, classes);
}

}  // namespace probust
