"""Where trials are trained: a plan's executor (trials/trial.py), opened before the sweep is written down."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gymnast.sweeps.results import runs_left
from gymnast.sweeps.state import SweepState
from gymnast.trials.trial import Executor, Trial

Notify = Callable[[str], None]


def open_executor(state: SweepState, root: Path, notify: Notify) -> Executor:
    """What trains the runs of a sweep; GymnastError, with nothing started, if that cannot train them."""
    plan = state.plan
    if plan.executor == "ray":
        from gymnast.trials.ray_executor import RayExecutor

        return RayExecutor(plan.workers, root)
    if plan.executor == "modal":
        from gymnast.remote.launch import Wishes
        from gymnast.trials.modal_executor import ModalExecutor

        return ModalExecutor(
            plan.workers,
            root,
            wishes=Wishes(**plan.machine),
            example=Trial(
                "example",
                plan.reference,
                plan.overrides,
                init_from=plan.init_from,
                config_dirs=plan.config_dirs,
            ),
            runs=runs_left(state),
            known=[run.run_id for _, run in state.runs()],
            notify=notify,
        )
    from gymnast.trials.pool import LocalPool

    return LocalPool(plan.workers, root)
