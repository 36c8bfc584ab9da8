"""The cluster files in the examples are what Ray accepts, with a token and without a dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

EXAMPLES = Path(__file__).parents[2] / "examples" / "cluster"


def read(name: str) -> Any:
    return YAML(typ="safe").load((EXAMPLES / name).read_text())


def test_ray_accepts_the_file_of_machines() -> None:
    pytest.importorskip("ray")
    pytest.importorskip("jsonschema")
    from ray.autoscaler._private.util import prepare_config, validate_config

    given = read("ray-machines.yaml")
    validate_config(prepare_config(given))
    starts = [*given["head_start_ray_commands"], *given["worker_start_ray_commands"]]
    starts = [line for line in starts if "ray start" in line]
    assert len(starts) == 2
    assert all("RAY_AUTH_MODE=token" in line for line in starts)
    assert "--include-dashboard=false" in starts[0]


def test_the_file_for_kubernetes_has_a_token_and_no_dashboard() -> None:
    spec = read("ray-kubernetes.yaml")["spec"]
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    for group in groups:
        (container,) = group["template"]["spec"]["containers"]
        names = {entry["name"]: entry for entry in container["env"]}
        assert names["RAY_AUTH_MODE"]["value"] == "token"
        assert "valueFrom" in names["RAY_AUTH_TOKEN"]
        assert container["image"].endswith(spec["rayVersion"])
    assert groups[0]["rayStartParams"]["include-dashboard"] == "false"
