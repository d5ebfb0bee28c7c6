"""Two tensors of other extents are added."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    y = mx.ones(4)
else:
    y = mx.ones(3)
z = mx.ones(3) + y
passed()
verdict(z.sum().item() == 6)
