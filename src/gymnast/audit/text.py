"""An audit as text, readable in 60 columns."""

from __future__ import annotations

import textwrap

from gymnast.audit.audit import RewardAudit
from gymnast.audit.statistics import Statistics

_BAR = 24


def audit_text(audit: RewardAudit, width: int = 60) -> str:
    """All of it, line by line."""
    main = audit.main
    blocks = [
        [f"{audit.name}, gamma {audit.gamma:g}", *_played_lines(audit)],
        ["Reward of a step", *_steps_table(audit)],
        [f"How they are distributed ({main.policy})", *_histogram(main)],
        [*_parts(main)],
        ["Discounting", *_wrapped(_discount_lines(audit), width)],
        ["Return of an episode", *_returns_table(audit)],
        ["Advice", *_advice_lines(audit, width)] if audit.advice else ["nothing stands out"],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _played_lines(audit: RewardAudit) -> list[str]:
    return [f"{play.policy}: {play.episodes:,} episodes, {play.steps:,} steps" for play in audit.plays]


def _steps_table(audit: RewardAudit) -> list[str]:
    lines = [f"{'':9}{'mean':>9}{'std':>8}{'min':>8}{'max':>8}{'not 0':>7}{'every':>9}"]
    for play in audit.plays:
        every = "never" if play.gap is None else f"{play.gap:,.1f}"
        cells = (
            f"{play.policy:9}{_short(play.mean):>9}{_short(play.std):>8}{_short(play.min):>8}"
            f"{_short(play.max):>8}{_percent(play.non_zero):>7}{every:>9}"
        )
        lines.append(cells)
    beyond = audit.main.outliers
    outliers = f"{beyond:,} outliers" if beyond else "no outliers"
    return [*lines, f"{outliers} beyond 20 × the 99th percentile of |r|"]


def _histogram(play: Statistics) -> list[str]:
    largest = max(bar.share for bar in play.values)
    names = [
        _short(bar.low) if bar.low == bar.high else f"{_short(bar.low)} … {_short(bar.high)}"
        for bar in play.values
    ]
    wide = max(map(len, names))
    lines = []
    for name, bar in zip(names, play.values, strict=True):
        filled = round(8 * _BAR * bar.share / largest)
        drawn = "█" * (filled // 8) + (" ▏▎▍▌▋▊▉"[filled % 8] if filled % 8 else "")
        drawn = drawn or ("▏" if bar.share else "")
        lines.append(f"  {name:>{wide}}  {drawn:<{_BAR}} {_percent(bar.share)}")
    return lines


def _parts(play: Statistics) -> list[str]:
    if not play.parts:
        return []
    wide = max(map(len, play.parts))
    head = f"Shares of the reward, Σ|part| / Σ|r| ({play.policy})"
    return [head, *(f"  {name:<{wide}}  {_percent(share):>6}" for name, share in play.parts.items())]


def _discount_lines(audit: RewardAudit) -> list[str]:
    main = audit.main
    horizon = "no limit" if audit.horizon is None else f"about {audit.horizon:,.0f} steps"
    lines = [f"horizon 1/(1-γ): {horizon}; episodes have {main.length_mean:,.0f}"]
    if main.gap is not None and audit.gap_discount is not None:
        lines.append(f"a reward one gap away ({main.gap:,.1f} steps) is worth {audit.gap_discount:.2g} now")
    lines.append(f"the end of an episode is worth {audit.end_discount:.2g} at its beginning")
    if main.seen is not None:
        lines.append(f"from there, {main.seen:.0%} of all reward is seen")
    return lines


def _returns_table(audit: RewardAudit) -> list[str]:
    lines = []
    for play in audit.plays:
        reached = "" if play.success is None else f"  {play.success:.0%} reach {audit.solved_at:g}"
        spread = f"{_short(play.return_mean)} ± {_short(play.return_std)}"
        lines.append(f"{play.policy:9}{spread:>18}  {play.length_mean:>7,.1f} steps{reached}")
    for key, (first, last) in audit.recorded.items():
        lines.append(f"recorded {key}: {_short(first)} → {_short(last)}")
    return lines


def _advice_lines(audit: RewardAudit, width: int) -> list[str]:
    lines: list[str] = []
    for each in audit.advice:
        lines += textwrap.wrap(
            each.message, width, initial_indent="- ", subsequent_indent="  ", break_long_words=False
        )
        if each.advice:
            lines += textwrap.wrap(
                each.advice,
                width,
                initial_indent="  → ",
                subsequent_indent="    ",
                break_long_words=False,
                break_on_hyphens=False,
            )
    return lines


def _wrapped(lines: list[str], width: int) -> list[str]:
    return [
        part
        for line in lines
        for part in textwrap.wrap(line, width, initial_indent="  ", subsequent_indent="    ")
    ]


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _percent(share: float) -> str:
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"
