"""The report of a run that has ended, however it ended. An error here is a line in the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from gymnast.errors import GymnastError, described
from gymnast.runs.store import RunFolder
from gymnast.training.run.outcome import Outcome
from gymnast.training.session import Session

PICTURES_FROM = 10.0  # seconds of training: drawing takes a tenth of one, which a short run would notice


def end_report(run: RunFolder, session: Session, outcome: Outcome, log: Callable[[str], None]) -> None:
    """Tables of steps, then the report; the run's final state must be registered."""
    config = session.config
    reached_its_end = outcome.status in ("solved", "finished")  # one that was stopped waits for nothing

    def tell(text: str) -> None:
        with suppress(GymnastError):  # the disk may be full: the run is over all the same
            log(text)

    # What is imported here is not needed to begin training.
    if config.checkpoint.rollout_table and reached_its_end:
        with _reported("no tables of steps", tell):
            from gymnast.training.run.rollout_tables import write_tables

            write_tables(run, config, outcome.seconds, tell)
    with _reported("no report", tell):
        from gymnast.reports.facts import Known, gather
        from gymnast.reports.write import write_report

        facts = gather(run, Known(config.model_dump(), session.spec.solved_at))
        write_report(run, facts, pictures=reached_its_end and outcome.seconds >= PICTURES_FROM)


@contextmanager
def _reported(what: str, tell: Callable[[str], None]) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        tell(f"{what}: stopped by Ctrl-C; `gymnast report` writes what is missing")
    except Exception as error:  # an env may fail in any way
        tell(f"{what}: {error if isinstance(error, GymnastError) else described(error)}")
