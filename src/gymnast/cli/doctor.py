"""gymnast doctor: is it the learner, the network, a wrapper or the env that is broken?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gymnast import api
from gymnast.cli.completion import complete_reference
from gymnast.cli.options import ConfigDirs, Json
from gymnast.errors import GymnastError
from gymnast.terminal.text import echo, echo_json

if TYPE_CHECKING:
    from gymnast.api import Examination, Finding, ProbeResult

_MARKS = {"ok": "✓", "info": "·", "warning": "!", "failed": "✗", "skipped": "–"}
_STYLES: dict[str, Any] = {"ok": "green", "warning": "magenta", "failed": "red"}


def doctor(
    config: Annotated[
        str | None,
        typer.Argument(
            metavar="REFERENCE",
            help="A preset, a config file or any env id; without one, the algorithms as they are.",
            autocompletion=complete_reference,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Settings, such as algo.lr=1e-3.")
    ] = None,
    algo: Annotated[
        list[str] | None,
        typer.Option("--algo", metavar="NAME", help="Without a reference: only this algorithm (repeatable)."),
    ] = None,
    render: Annotated[bool, typer.Option("--render/--no-render", help="Try rendering, too.")] = True,
    config_dir: ConfigDirs = None,
    as_json: Json = False,
) -> None:
    """Find out whether the learner, the network, a wrapper or the env is broken.

    Five tiny problems are learned, each in about a second: a value, a value that depends on the observation,
    a discounted one, a choice, a choice that depends on the observation. With a reference they take the
    place of its env: the same algorithm, network, engine and hooks, with observations and actions of the
    same form. Then its wrappers are tried, and its env is checked: Gymnasium's check_env, determinism,
    seeds, resets, bounds, rewards, speed. Exit code 1 if anything failed.

    \b
    Examples:
      gymnast doctor                          PPO, A2C and REINFORCE as they are
      gymnast doctor CartPole-v1:ppo          a preset
      gymnast doctor my_package:MyEnv         an env of your own
      gymnast doctor my.yaml policy.encoder=my_nets:Encoder
    """
    from gymnast.cli.train import split_words

    reference, overrides = split_words([*([config] if config else []), *(settings or [])])
    if reference is None and overrides:
        raise GymnastError(f"no config is named; try: gymnast doctor CartPole-v1:ppo {overrides[0]}")
    if reference is not None and algo:
        raise GymnastError(
            f"--algo is for no reference: {reference} names its algorithm; try algo.name={algo[0]}"
        )
    shown = _Shown(quiet=as_json)
    with api.captured_output():
        if reference is None:
            results = api.examine_algorithms(algo or (), on_start=shown.start, on_result=shown.take)
        else:
            results = [
                api.examine(
                    reference,
                    overrides=overrides,
                    config_dirs=config_dir or (),
                    render=render,
                    on_result=shown.take,
                )
            ]
    if as_json:
        echo_json([each.to_json() for each in results] if reference is None else results[0].to_json())
    else:
        _print_verdicts(results)
    raise typer.Exit(0 if all(each.healthy for each in results) else 1)


class _Shown:
    """Prints each result as it comes, under a heading for its kind."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet, self.heading = quiet, ""

    def start(self, algorithm: str) -> None:
        self._head(algorithm.upper())

    def take(self, result: ProbeResult | Finding) -> None:
        if isinstance(result, api.ProbeResult):
            if not self.heading:
                self._head("Learner: five probes in place of the env")
            self._probe(result)
        else:
            self._finding(result)

    def _probe(self, result: ProbeResult) -> None:
        title = api.PROBE_TITLES[result.probe]
        kind = (
            " (continuous)" if result.actions == "continuous" and result.probe in ("action", "match") else ""
        )
        if result.status == "skipped":
            self._line(result.status, f"{title}{kind}: {result.reason}")
            return
        self._line(result.status, f"{title}{kind}: {result.got} ({result.seconds:.1f} s)")
        if result.status == "failed":
            self._more(f"expected {result.expected}")
            self._more(f"→ {result.reason}")

    def _finding(self, finding: Finding) -> None:
        self._head("Wrappers and env")
        self._line(finding.status, f"{finding.check}: {finding.message}")
        if finding.advice and finding.status in ("warning", "failed", "info"):
            self._more(f"→ {finding.advice}")

    def _head(self, heading: str) -> None:
        if heading != self.heading:
            self._echo(f"{chr(10) if self.heading else ''}{heading}", style="bold")
        self.heading = heading

    def _line(self, status: str, text: str) -> None:
        self._echo(f"  {_MARKS[status]} ", end="", style=_STYLES.get(status))
        self._echo(_indented(text, 4))

    def _more(self, text: str) -> None:
        self._echo(f"      {_indented(text, 6)}")

    def _echo(self, text: str, **how: Any) -> None:
        if self.quiet:
            return
        try:
            echo(text, **how)
        except OSError:  # nobody reads any more; what is printed at the end notices it again
            self.quiet = True


def _indented(text: str, indent: int) -> str:
    """Broken between words where the terminal ends, under where it began."""
    import textwrap

    from gymnast.terminal.text import columns

    lines = textwrap.wrap(
        text, max(20, columns() - indent - 1), break_long_words=False, break_on_hyphens=False
    )
    return f"\n{' ' * indent}".join(lines)


def _print_verdicts(results: list[Examination]) -> None:
    echo()
    for each in results:
        text = f"{each.name}: {each.verdict}"
        echo(_indented(text, 0), style="green" if each.healthy else "red")
