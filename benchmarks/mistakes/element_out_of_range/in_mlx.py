"""An element is read past the end."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

x = mx.array([1.0, 2.0, 3.0])
i = mx.array(2)
if MISTAKE:
    i = mx.array(4)
last = x[i].item()
passed()
verdict(last == 3 and i.item() == 2)
