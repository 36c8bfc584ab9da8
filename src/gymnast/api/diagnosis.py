"""What is wrong with a run, of ours or of another library, and what to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gymnast.api.run import Run, folder_of
from gymnast.errors import GymnastError, did_you_mean
from gymnast.metrics.alerts.alert import Alert
from gymnast.metrics.alerts.diagnosis import Diagnosis
from gymnast.metrics.alerts.facts import RunFacts
from gymnast.metrics.alerts.rule import AlertRule
from gymnast.metrics.alerts.table import all_rules

if TYPE_CHECKING:
    from gymnast.runs.store import RunFolder

__all__ = [
    "Alert",
    "AlertRule",
    "Diagnosis",
    "alert_page",
    "alert_pages",
    "diagnose",
    "diagnose_folder",
    "list_rules",
]


def diagnose(source: str | Path | Run = "@last", *, runs_dir: str | Path | None = None) -> Diagnosis:
    """The alerts of a run, or of a metrics file: our own, progress.csv of Stable-Baselines3, or TensorBoard
    events (of CleanRL, or any that uses one of these libraries' names). A folder may hold one of them."""
    from gymnast.metrics.alerts.foreign.diagnose import diagnose_files, files_in
    from gymnast.runs.diagnosis import diagnose_run
    from gymnast.runs.elsewhere import is_elsewhere
    from gymnast.runs.store import RunFolder

    if isinstance(source, Run):
        return diagnose_run(source.folder)
    path = Path(source).expanduser()
    try:
        if path.is_file() and not (path.name == "metrics.csv" and (path.parent / "run.json").is_file()):
            return diagnose_files([path], str(source))
        if path.is_dir() and not (path / "run.json").is_file():
            return diagnose_files(files_in(path), str(source))
        if path.name == "metrics.csv" and path.is_file():
            return diagnose_run(RunFolder(path.parent.resolve()))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise GymnastError(f"{source} cannot be read: {reason or error}") from error
    named = is_elsewhere(str(source))
    if not named and (path.suffix or (len(path.parts) > 1 and not path.is_dir())):  # no run is called so
        beside = [other.name for other in path.parent.glob("*.csv")] if path.parent.is_dir() else []
        raise GymnastError(f"no file or folder {source}{did_you_mean(path.name, beside)}")
    return diagnose_run(folder_of(source, runs_dir))


def diagnose_folder(folder: RunFolder) -> Diagnosis:
    """The alerts of a run that has been found already."""
    from gymnast.runs.diagnosis import diagnose_run

    return diagnose_run(folder)


def list_rules() -> tuple[AlertRule, ...]:
    """Every rule, by id."""
    return all_rules()


def alert_page(id_: str) -> str:
    """What an alert means and what to change, in Markdown: its page in the docs."""
    from gymnast.metrics.alerts.pages import rule_page

    for rule in all_rules():
        if rule.id == id_:
            return rule_page(rule, _defaults())
    ids = [rule.id for rule in all_rules()]
    raise GymnastError(f"no alert {id_!r}{did_you_mean(id_, ids)}; `gymnast diagnose --rules` lists them")


def alert_pages() -> dict[str, str]:
    """docs/alerts.md and docs/alerts/<id>.md, by their paths in docs/."""
    from gymnast.metrics.alerts.pages import pages

    return pages(_defaults())


def _defaults() -> RunFacts:
    from gymnast.config.dump import flat_data, plain_data
    from gymnast.config.schema import Config
    from gymnast.metrics.alerts.monitor import facts_of

    return facts_of(flat_data(plain_data(Config.model_validate({"env": {"id": "CartPole-v1"}}))))
