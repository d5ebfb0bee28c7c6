"""A matrix is reshaped where it should be transposed."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

x = mx.array([[1, 2, 3], [4, 5, 6]])
if MISTAKE:
    y = x.reshape(3, 2)
else:
    y = x.T
passed()
verdict(y[0, 1].item() == 4)
