"""A softmax does not say along which axis."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

x = mx.ones((2, 4))
if MISTAKE:
    y = mx.softmax(x)
else:
    y = mx.softmax(x, 1)
passed()
verdict(y[0, 0].item() == 0.25)
