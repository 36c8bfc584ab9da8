"""What is sent to another machine: a run's id and its resolved config, as plain data."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gymnast.config.dump import dump_config
from gymnast.config.load import ResolvedConfig, load_config
from gymnast.errors import GymnastError
from gymnast.runs.files import parse_json, write_atomic
from gymnast.runs.ids import RUN_ID

FORMAT = 1
LONGEST_ATTEMPT = 23.5 * 3600  # seconds; a machine is ours for at most 24 hours, and saving takes a while


@dataclass(frozen=True, slots=True)
class TrainSpec:
    """One run to train, and how long."""

    run_id: str
    name: str  # 'CartPole-v1:ppo'
    variant: str | None
    config: str  # YAML
    cores: float
    memory: int  # MiB
    gpu: str | None
    dollars_per_hour: float
    max_seconds: float | None  # of all attempts together
    variables: tuple[
        str, ...
    ] = ()  # environment variables that the run reads; their values travel as secrets
    attempt_seconds: float = LONGEST_ATTEMPT
    # Of a trial, which is ordered leg by leg: the env steps at which this one ends, and whether a training
    # process that was killed is started again there, or left to whoever ordered it.
    stop_at: int | None = None
    retry_crashes: bool = True

    def to_text(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)})

    def resolved(self) -> ResolvedConfig:
        """The config, checked again where it arrives."""
        with TemporaryDirectory(prefix="gymnast-spec-") as folder:
            path = Path(folder) / "config.yaml"
            write_atomic(path, self.config, durable=False)
            config = load_config(str(path)).config
        return ResolvedConfig(config, self.name, self.variant)


def spec_of(resolved: ResolvedConfig, run_id: str, **more: Any) -> TrainSpec:
    return TrainSpec(run_id, resolved.name, resolved.variant, dump_config(resolved.config), **more)


def read_spec(text: str) -> TrainSpec:
    """The spec in a text from elsewhere; raises GymnastError if it makes no sense."""
    try:
        document = parse_json(text.encode())
    except ValueError as error:
        raise GymnastError(f"the order of a remote run cannot be read: {error}") from error
    if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
        raise GymnastError("the order of a remote run is of another version of Gymnast; start it again")
    if set(document) != {field.name for field in fields(TrainSpec)}:
        raise GymnastError("the order of a remote run has other fields than this version's; start it again")
    if not isinstance(document["run_id"], str) or not RUN_ID.fullmatch(document["run_id"]):
        raise GymnastError(f"{document['run_id']!r} is not a run id")
    variables = document["variables"]
    if not isinstance(variables, list) or not all(isinstance(name, str) for name in variables):
        raise GymnastError("the order of a remote run names variables that are not texts")
    if document["stop_at"] is not None and type(document["stop_at"]) is not int:
        raise GymnastError("the order of a remote run ends at a step that is not a whole number")
    return TrainSpec(**{**document, "variables": tuple(variables)})
