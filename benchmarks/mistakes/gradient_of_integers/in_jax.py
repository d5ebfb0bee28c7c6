"""Integers are to collect a gradient."""
import jax
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    g = jax.grad(lambda w: w**2)(2)
else:
    g = jax.grad(lambda w: w**2)(2.0)
passed()
verdict(g == 4)
