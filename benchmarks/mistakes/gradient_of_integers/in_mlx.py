"""Integers are to collect a gradient."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    g = mx.grad(lambda w: w**2)(mx.array(2))
else:
    g = mx.grad(lambda w: w**2)(mx.array(2.0))
passed()
verdict(g.item() == 4)
