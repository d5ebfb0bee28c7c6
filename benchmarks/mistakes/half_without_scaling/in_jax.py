"""Sixteen bits are trained without loss scaling."""
import jax
import jax.numpy as jnp
from verdict import MISTAKE, passed, verdict

if MISTAKE:
    g = jax.grad(lambda w: w * jnp.float16(1e-4) * jnp.float16(1e-5))(jnp.float16(1))
else:
    g = jax.grad(lambda w: w * jnp.float16(1e-4) * jnp.float16(1e-5) * 65504)(jnp.float16(1))
passed()
verdict(g != 0)
