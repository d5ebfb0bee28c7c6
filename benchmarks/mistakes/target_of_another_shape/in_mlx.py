"""A column of predictions meets a row of targets in a loss."""
import mlx.core as mx
import mlx.nn as nn
from verdict import MISTAKE, passed, verdict

prediction = mx.array([[1.0], [2.0], [3.0]])
if MISTAKE:
    target = mx.array([1.0, 2.0, 3.0])
else:
    target = mx.array([[1.0], [2.0], [3.0]])
loss = nn.losses.mse_loss(prediction, target)
passed()
verdict(loss.item() == 0)
