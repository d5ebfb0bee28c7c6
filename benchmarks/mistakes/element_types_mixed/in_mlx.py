"""A large integer meets a float."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

n, one = mx.array([16777217]), mx.array([1.0])
if MISTAKE:
    y = n * one
else:
    y = n * one.astype(mx.int32)
passed()
verdict(int(y.item()) == 16777217)
