"""One random key is used for two draws."""
import jax
from verdict import MISTAKE, passed, verdict

key, second = jax.random.split(jax.random.key(1))
a = jax.random.uniform(key, 8)
if MISTAKE:
    b = jax.random.uniform(key, 8)
else:
    b = jax.random.uniform(second, 8)
passed()
verdict(abs(a - b).sum() > 0)
