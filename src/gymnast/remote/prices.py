"""What a machine on Modal costs, by a table with a date: prices change, and the bill is Modal's.

`modal billing rates` prints those of your workspace. Regions of your choice cost 1.5 to 1.75 times as much.
"""

from __future__ import annotations

from gymnast.errors import GymnastError, did_you_mean

AS_OF = "June 2026"
CORE_HOUR = 0.0000131 * 3600  # dollars for a physical core
GIB_HOUR = 0.00000222 * 3600
GPU_HOUR = {
    "T4": 0.000164 * 3600,
    "L4": 0.000222 * 3600,
    "A10": 0.000306 * 3600,
    "L40S": 0.000542 * 3600,
    "A100-40GB": 0.000583 * 3600,
    "A100-80GB": 0.000694 * 3600,
    "H100": 0.001097 * 3600,
    "H200": 0.001261 * 3600,
    "B200": 0.001736 * 3600,
}


def dollars_per_hour(cores: float, memory: int, gpu: str | None) -> float:
    """For a machine of so many cores and MiB, with a GPU such as L4, or H100:2 for two."""
    return cores * CORE_HOUR + memory / 1024 * GIB_HOUR + _gpu(gpu)


def _gpu(gpu: str | None) -> float:
    if gpu is None:
        return 0.0
    name, _, count = gpu.partition(":")
    if name not in GPU_HOUR or not (count or "1").isdecimal() or count == "0":
        known = ", ".join(GPU_HOUR)
        raise GymnastError(
            f"--gpu {gpu}: not a GPU of Modal{did_you_mean(name, GPU_HOUR)}; there are {known}"
        )
    return GPU_HOUR[name] * int(count or 1)
