"""Two tensors are compared in an if."""
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

a, b = jnp.array([1.0, 2.0]), jnp.array([1.0, 3.0])
if MISTAKE:
    equal = True if a == b else False
else:
    equal = bool((a == b).all())
passed()
verdict(not equal)
