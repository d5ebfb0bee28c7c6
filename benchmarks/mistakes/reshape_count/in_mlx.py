"""A new shape has another number of elements."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

x = mx.ones((2, 3))
if MISTAKE:
    y = x.reshape(4, 2)
else:
    y = x.reshape(3, 2)
passed()
verdict(y.size == 6)
