"""An operand changes before a lazy result is read."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

x = mx.array([1.0])
y = x + 1
if MISTAKE:
    x[0] = 5
passed()
verdict(y.item() == 2)
