"""The mean of integers."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

n = mx.array([1, 2])
if MISTAKE:
    y = n.mean()
else:
    y = n.astype(mx.float32).mean()
passed()
verdict(y.item() == 1.5)
