// SPDX-License-Identifier: MIT
//
// The state of a training as bytes, for files from which it is resumed.
#pragma once

#include <span>
#include <string>

#include "probust/train/trainer.h"

namespace probust {

/// A state with what the caller needs to know to go on: options, the data's name.
struct Checkpoint {
  Trainer::State state;
  std::string record;
};

/// The bytes of a checkpoint, with a checksum at the end. Throws Error{numerical} if a weight is not finite: it would be of no
/// use.
std::string write_checkpoint(const Checkpoint& checkpoint);

/// Reads them. Throws Error{unreadable, where} if they are not complete or not of a checkpoint.
Checkpoint read_checkpoint(std::span<const std::byte> bytes, const std::string& where);

}  // namespace probust
