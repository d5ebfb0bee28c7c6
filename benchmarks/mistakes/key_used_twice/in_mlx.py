"""One random key is used for two draws."""
import mlx.core as mx
from verdict import MISTAKE, passed, verdict

key, second = mx.random.split(mx.random.key(1))
a = mx.random.uniform(shape=(8,), key=key)
if MISTAKE:
    b = mx.random.uniform(shape=(8,), key=key)
else:
    b = mx.random.uniform(shape=(8,), key=second)
passed()
verdict(mx.abs(a - b).sum().item() > 0)
