"""What machine code is made for: the last bits of numbers depend on it."""

from functools import cache
from importlib.metadata import version
from typing import Any

import llvmlite.binding
import numba

COMPILERS = ("numba", "llvmlite")


@cache
def processor() -> dict[str, str]:
    """Return name and features of the CPU for which numba compiles, as the environment may set them."""
    config: Any = numba.config
    name = config.CPU_NAME if config.CPU_NAME is not None else llvmlite.binding.get_host_cpu_name()
    features = config.CPU_FEATURES if config.CPU_FEATURES is not None else _host_features()
    return {"name": name, "features": features}


@cache
def code_target() -> tuple[str, ...]:
    """Return all that machine code depends on but the sources: the CPU, and the versions of the compilers."""
    return (*processor().values(), *(version(package) for package in COMPILERS))


def _host_features() -> str:
    """Return the features that the CPU has, and numba uses, in the manner of LLVM: "+avx,+avx2"."""
    config: Any = numba.config
    try:
        features = llvmlite.binding.get_host_cpu_features()
    except RuntimeError:  # LLVM does not know this CPU
        return ""
    return ",".join(
        f"+{name}"
        for name, present in sorted(features.items())
        if present and (config.ENABLE_AVX or not name.startswith("avx"))
    )
