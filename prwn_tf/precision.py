"""The numbers that convolutions compute with; nothing here loads TensorFlow."""

import pathlib

PRECISIONS = ("float32", "bfloat16", "float16")
# What a CPU needs to compute with them itself; without, it converts back and forth.
INSTRUCTIONS = {
    "bfloat16": ("avx512_bf16", "amx_bf16"),
    "float16": ("avx512_fp16", "amx_fp16"),
}
CPU_INFO = pathlib.Path("/proc/cpuinfo")


def slow_on_cpu(precision: str) -> str:
    """Returns why numbers of this precision are slow on this CPU; empty if not so.

    Where the system does not say what its CPU can do, nothing is said here either.
    """
    needed = INSTRUCTIONS.get(precision, ())
    if not needed or not CPU_INFO.exists():
        return ""
    known = CPU_INFO.read_text(encoding="utf-8", errors="replace").split()
    if any(name in known for name in needed):
        return ""
    return f"this CPU has neither {' nor '.join(needed)}"
