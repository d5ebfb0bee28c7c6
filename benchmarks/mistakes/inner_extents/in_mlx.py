"""The inner extents of a matrix product differ."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    b = mx.ones((4, 5))
else:
    b = mx.ones((3, 5))
y = mx.ones((2, 3)) @ b
passed()
verdict(y.sum().item() == 30)
