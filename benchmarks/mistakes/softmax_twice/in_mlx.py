"""A softmax stands before a loss that has one."""
import mlx.core as mx
import mlx.nn as nn
from verdict import MISTAKE, passed, verdict

scores, labels = mx.array([[9.0, 0.0, 0.0]]), mx.array([0])
if MISTAKE:
    loss = nn.losses.cross_entropy(mx.softmax(scores, 1), labels)
else:
    loss = nn.losses.cross_entropy(scores, labels)
passed()
verdict(loss.item() < 0.01)
