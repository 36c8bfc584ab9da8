"""A new run that continues from the whole training state of another's checkpoint, with changed settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from gymnast.config.dump import dump_config
from gymnast.errors import GymnastError
from gymnast.runs.adopt import adopt_run, draft_folder
from gymnast.runs.checkpoint import Checkpoint
from gymnast.runs.files import MOST_CONFIG, MOST_METRICS, read_bytes, read_text, remove_tree, write_atomic
from gymnast.runs.ids import check_new_id
from gymnast.runs.kept_configs import keep_config
from gymnast.runs.provenance import describe_process
from gymnast.runs.sidecar import PARTS, to_bytes
from gymnast.runs.store import RunFolder, now
from gymnast.runs.trust import load_run_config, mark_run, refuse_secrets


def fork_run(checkpoint: Checkpoint, root: Path, run_id: str, overrides: Mapping[str, Any]) -> RunFolder:
    """Weights, optimiser, random states and envs of the checkpoint, and the metrics up to it, as a new run.

    Resuming it continues from there; resuming it without changed settings gives the bits of the other run.
    """
    check_new_id(root, run_id)
    source = checkpoint.run
    sidecar = checkpoint.sidecar()
    before = checkpoint.config_path()
    config = load_run_config(source, overrides, file=before)
    refuse_secrets(config)
    known = source.info()
    info: dict[str, Any] = {
        **{key: known.get(key) for key in ("variant", "budget_env_steps")},
        **describe_process(),
        "id": run_id,
        "name": known.get("name") or config.env.id,
        "created": now(),
        "env": config.env.id,
        "algo": config.algo.name,
        "seed": config.seed,
        "forked_from": str(checkpoint),
        "fork_overrides": dict(overrides),
    }
    draft = draft_folder(root, run_id)
    try:
        copy = Checkpoint(draft, checkpoint.env_steps)
        draft.checkpoints.mkdir()
        for part in PARTS:
            write_atomic(copy.arrays_path(part, sidecar.copy), checkpoint.arrays(sidecar, part))
        keep_config(draft, read_text(before, MOST_CONFIG))
        write_atomic(copy.json_path, to_bytes(sidecar))
        # All rows: the resume drops those of later updates.
        for own, other in (
            (draft.metrics_path, source.metrics_path),
            (draft.distributions_path, source.distributions_path),
        ):
            with suppress(FileNotFoundError):
                write_atomic(own, read_bytes(other, MOST_METRICS))
        write_atomic(draft.config_path, dump_config(config))
        write_atomic(draft.info_path, json.dumps(info, indent=2) + "\n")
        run = adopt_run(draft, root, run_id, replace=False)
    except OSError as error:
        remove_tree(draft.path)
        raise GymnastError(f"{checkpoint} cannot be forked: {error.strerror or error}") from error
    except BaseException:
        remove_tree(draft.path)
        raise
    mark_run(run, config)
    return run
