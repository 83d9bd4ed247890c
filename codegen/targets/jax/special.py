"""What JAX has for operators that the array API standard has no function for, by the names of their parameters."""

from __future__ import annotations

from collections.abc import Mapping

IMPORTS: Mapping[str, str] = {
    "special": "from jax.scipy import special",
    "linalg": "from jax.scipy import linalg",
    "lax": "from jax import lax",
}
"""The names at the start of what is written, and the lines that import them; `jnp` is there in any case."""

FUNCTIONS: Mapping[str, str] = {
    "erf": "special.erf({self})",
    "erfc": "special.erfc({self})",
    "erfinv": "special.erfinv({self})",
    "lgamma": "special.gammaln({self})",
    "digamma": "special.digamma({self})",
    "polygamma": "special.polygamma({n}, {self})",
    "igamma": "special.gammainc({self}, {other})",
    "igammac": "special.gammaincc({self}, {other})",
    "i0": "special.i0({self})",
    "special_i0e": "special.i0e({self})",
    "special_i1": "special.i1({self})",
    "special_i1e": "special.i1e({self})",
    "special_log_ndtr": "special.log_ndtr({self})",
    "special_ndtri": "special.ndtri({self})",
    "special_zeta": "special.zeta({self}, {other})",
    "logaddexp2": "jnp.logaddexp2({self}, {other})",
    "fmod.Tensor": "jnp.fmod({self}, {other})",
    "fmod.Scalar": "jnp.fmod({self}, {other})",
    "nextafter": "jnp.nextafter({self}, {other})",
    "gcd": "jnp.gcd({self}, {other})",
    "lcm": "jnp.lcm({self}, {other})",
    "angle": "jnp.angle({self})",
    "isreal": "jnp.isreal({self})",
    "positive": "jnp.positive({self})",
    "linalg_matrix_exp": "linalg.expm({self})",
}
