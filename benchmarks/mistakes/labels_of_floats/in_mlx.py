"""Labels are floats."""
import mlx.core as mx
import mlx.nn as nn
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    labels = mx.array([0.0, 2.0])
else:
    labels = mx.array([0, 2])
loss = nn.losses.cross_entropy(mx.ones((2, 3)), labels).mean()
passed()
verdict(loss.item() > 1)
