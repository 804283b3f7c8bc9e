// SPDX-License-Identifier: MIT
#include "probust/exec/cpu/packed_forms.h"

#include <map>
#include <mutex>

namespace probust::cpu {
namespace {

// The packed forms of a constant that may still be in use. If `constant` has expired, its address may now belong to another
// constant.
struct PackedForms {
  std::weak_ptr<const Tensor> constant;
  std::map<std::vector<std::int64_t>, std::weak_ptr<const void>> by_order;
};

}  // namespace

std::shared_ptr<const void> shared_form(const std::shared_ptr<const Tensor>& constant, Form form, std::vector<std::int64_t> order,
                                        const std::function<std::shared_ptr<const void>()>& make) {
  static std::mutex mutex;
  static std::map<const Tensor*, PackedForms> packed;
  const std::lock_guard lock(mutex);
  std::erase_if(packed, [](const auto& entry) { return entry.second.constant.expired(); });
  PackedForms& forms = packed[constant.get()];
  forms.constant = constant;
  order.insert(order.begin(), static_cast<std::int64_t>(form));
  std::weak_ptr<const void>& known = forms.by_order[std::move(order)];
  auto packed_form = known.lock();
  if (!packed_form) known = packed_form = make();
  return packed_form;
}

}  // namespace probust::cpu
