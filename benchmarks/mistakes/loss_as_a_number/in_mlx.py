"""A loss is made of numbers instead of tensors."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    g = mx.grad(lambda w: mx.array(w.item() ** 2))(mx.array(2.0))
else:
    g = mx.grad(lambda w: w**2)(mx.array(2.0))
passed()
verdict(g.item() == 4)
