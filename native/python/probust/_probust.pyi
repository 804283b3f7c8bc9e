# SPDX-License-Identifier: MIT
from typing import Any, Callable, List, Optional, Sequence, Tuple

import numpy as np

version: str

class Model:
    @property
    def classes(self) -> int: ...
    @property
    def point_shape(self) -> Tuple[int, ...]: ...
    @property
    def notes(self) -> List[str]: ...
    def logits(self, x: Any) -> np.ndarray: ...
    def margins(self, x: Any, targets: Any) -> np.ndarray: ...
    def estimate(
        self,
        x: Any,
        noises: Sequence[str],
        estimators: Sequence[str],
        labels: Any,
        target: str,
        targets: Any,
        groups: str,
        per_class: bool,
        top: int,
        seed: int,
        first_index: int,
        progress: Optional[Callable[[int, int], None]],
    ) -> dict: ...

def model_of_file(path: str, *options: Any) -> Model: ...
def model_of_bytes(model: bytes, *options: Any) -> Model: ...
def model_of_functions(
    logits: Callable[..., Any], vjp: Optional[Callable[..., Any]], point_shape: Sequence[int], classes: int, batch: int, memory: int
) -> Model: ...
def read(path: str, offset: int, limit: int) -> Tuple[np.ndarray, Optional[np.ndarray]]: ...
def make(kind: str, count: int, seed: int) -> Tuple[np.ndarray, np.ndarray]: ...
