"""Sixteen bits are trained without loss scaling."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    g = mx.grad(lambda w: w * 1e-4 * 1e-5)(mx.array(1.0, mx.float16))
else:
    g = mx.grad(lambda w: 65504 * (w * 1e-4 * 1e-5))(mx.array(1.0, mx.float16))
passed()
verdict(g.item() != 0)
