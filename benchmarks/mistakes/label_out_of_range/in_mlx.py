"""Labels count from one."""
import mlx.core as mx
import mlx.nn as nn
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    labels = mx.array([1, 3])
else:
    labels = mx.array([0, 2])
scores = mx.array([[3.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
loss = nn.losses.cross_entropy(scores, labels).mean()
passed()
verdict(loss.item() < 0.2)
