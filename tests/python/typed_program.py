"""A program that uses the types of locus. mypy --strict accepts it: it finds the mistakes that are marked, and no others."""

import numpy as np
import numpy.typing as npt

import locus
import locus.linalg

x = np.arange(12, dtype=np.float32).reshape(3, 4)
values, indices = locus.sort(x, axis=1)
largest: locus.Tensor = locus.topk(x, 2).values
y: locus.Tensor = 2 * locus.softmax(locus.asarray(x), axis=-1) + 1
shape: tuple[int, ...] = y.shape
array: npt.NDArray[np.float32] = y[:, 0].numpy()
parts: list[locus.Tensor] = list(locus.split(x, 2))
total = float(locus.sum(x)) + len(y)
solution: locus.Tensor = locus.linalg.solve(np.eye(3), np.ones((3, 1)))

w = locus.variable(np.ones(4))
locus.mse_loss(w, np.zeros(4)).backward()
gradient: locus.Tensor | None = w.grad

try:
    locus.add(x, np.ones(5, dtype=np.float32))
except locus.ShapeError as error:
    text: str = str(error)

if total < 0:  # mistakes
    locus.cumsum(x, "rows")  # type: ignore[arg-type]
    locus.softmax("text", axis=0)  # type: ignore[arg-type]
    locus.layer_norm(x)  # type: ignore[call-arg]
    y.gradient  # type: ignore[attr-defined]
    number: int = locus.sum(x)  # type: ignore[assignment]
