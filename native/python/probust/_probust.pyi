# SPDX-License-Identifier: MIT
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

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
    def p_gradient(
        self,
        x: Any,
        noises: Sequence[str],
        functions: dict,
        estimator: str,
        labels: Any,
        target: str,
        targets: Any,
        seed: int,
        first_index: int,
        progress: Optional[Callable[[int, int], None]],
    ) -> Tuple[np.ndarray, Optional[np.ndarray], np.ndarray, List[str]]: ...
    def take_warnings(self) -> List[str]: ...
    def check(self, x: Any, labels: Any, sigmas: Sequence[float]) -> Tuple[str, str]: ...
    def estimate(
        self,
        x: Any,
        noises: Sequence[str],
        named: dict,
        estimators: Sequence[str],
        labels: Any,
        target: str,
        targets: Any,
        groups: str,
        per_class: bool,
        top: int,
        seed: int,
        first_index: int,
        check: bool,
        share: str,
        progress: Optional[Callable[[int, int], None]],
    ) -> dict: ...

def model_of_file(path: bytes, *options: Any) -> Model: ...
def model_of_bytes(model: bytes, *options: Any) -> Model: ...
def model_of_functions(
    logits: Callable[..., Any], vjp: Optional[Callable[..., Any]], point_shape: Sequence[int], classes: int, batch: int, memory: int
) -> Model: ...
def read(
    path: bytes,
    offset: int,
    limit: int,
    scale: Optional[float],
    labels_path: Union[str, bytes],
    label_column: str,
    skip_bad: bool,
    classes: Sequence[Union[str, bytes]],
    known_classes: Sequence[Union[str, bytes]],
    resize: int,
    crop: int,
) -> Tuple[np.ndarray, Optional[np.ndarray], List[Tuple[int, bytes]], List[bytes], List[bytes], bytes]: ...
def devices() -> List[Tuple[str, str]]: ...
def read_names(path: bytes) -> List[bytes]: ...
def make(kind: str, count: int, seed: int) -> Tuple[np.ndarray, np.ndarray]: ...
def accuracies(
    label: Sequence[int],
    predicted: Sequence[int],
    noise: Sequence[str],
    estimator: Sequence[str],
    method: Sequence[str],
    p: Sequence[float],
    std_error: Sequence[float],
    p_label: Sequence[float],
) -> List[Tuple[Tuple[float, float, float, int], Tuple[float, float, float, int], Tuple[float, float, float, int], str]]: ...
def end_all() -> None: ...
def forget_all() -> None: ...
