"""A loss is made of numbers instead of tensors."""
import jax
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    g = jax.grad(lambda w: float(w) ** 2)(2.0)
else:
    g = jax.grad(lambda w: w**2)(2.0)
passed()
verdict(g == 4)
