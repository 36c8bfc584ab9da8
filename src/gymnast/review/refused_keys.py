"""Settings that a model may not propose: they name code, files, or services outside."""

from __future__ import annotations

# With all that is below them.
_REFUSED = (
    "env.id",
    "env.kwargs",
    "env.mix",
    "env.state",
    "env.vizdoom.wad",
    "env.retro.scenario",
    "policy.encoder_kwargs",
    "hooks",
    "sinks",
)


def is_refused_key(key: str) -> bool:
    """Whether a dotted key is one of them, is below one, or is a whole section with one inside."""
    return any(
        key == refused or key.startswith(f"{refused}.") or refused.startswith(f"{key}.")
        for refused in _REFUSED
    )
