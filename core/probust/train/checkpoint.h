// SPDX-License-Identifier: MIT
//
// The state of a training as bytes, for files from which training is resumed.
#pragma once

#include <span>
#include <string>

#include "probust/train/trainer.h"

namespace probust {

/// A trainer's state with what the caller needs to resume: options and the data's name.
struct Checkpoint {
  Trainer::State state;
  std::string record;
};

/// The bytes of a checkpoint, with a checksum at the end. Throws Error{numerical} if a weight is not finite, because such a
/// checkpoint would be useless.
std::string write_checkpoint(const Checkpoint& checkpoint);

/// Reads a checkpoint. Throws Error{unreadable} about `where` if the bytes are incomplete or not a checkpoint.
Checkpoint read_checkpoint(std::span<const std::byte> bytes, const std::string& where);

}  // namespace probust
