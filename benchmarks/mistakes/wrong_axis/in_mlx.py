"""A sum goes along the wrong axis."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

x = mx.array([[1.0, 2.0], [3.0, 4.0]])
if MISTAKE:
    columns = x.sum(1)
else:
    columns = x.sum(0)
passed()
verdict(columns[0].item() == 4)
