"""Two tensors are compared in an if."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

a, b = mx.array([1.0, 2.0]), mx.array([1.0, 3.0])
if MISTAKE:
    equal = True if a == b else False
else:
    equal = mx.array_equal(a, b).item()
passed()
verdict(not equal)
