"""backward() of a loss that is no number."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

w = mx.array([1.0, 2.0])
if MISTAKE:
    g = mx.grad(lambda w: w**2)(w)
else:
    g = mx.grad(lambda w: (w**2).sum())(w)
passed()
verdict(g[1].item() == 4)
