"""A Ray cluster of several nodes on this machine, with a token, and what is left of it afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TOKEN = "c" * 64
SMALL = {"object_store_memory": 80 << 20}
HERE = Path(__file__).parent


@contextmanager
def nodes(cpus: list[int]) -> Iterator[Any]:
    """A head with the first number of cores, and a node with each further one."""
    import gymnast

    source = str(Path(gymnast.__file__).parents[1])
    path = os.pathsep.join([source, str(HERE), str(HERE.parent)])
    settings = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": TOKEN,
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONPATH": path,
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)

    import ray

    from gymnast.cluster.ray_session import read_environment_again

    read_environment_again()
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": cpus[0], "include_dashboard": False, **SMALL}
    )
    try:
        for number in cpus[1:]:
            cluster.add_node(num_cpus=number, **SMALL)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
