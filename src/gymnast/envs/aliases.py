"""Older names of environments: still accepted, with one warning."""

from __future__ import annotations

import logging
import re

from gymnast.envs.families.table import FAMILIES, family_of

logger = logging.getLogger("gymnast")

ALIASES: dict[str, str] = {old: new for family in FAMILIES for old, new in family.older_ids.items()}

_warned: set[str] = set()


def current_id(env_id: str) -> str:
    """The id as it is registered today; the change of name is logged once per process."""
    current = ALIASES.get(env_id)
    if current is None:
        return env_id if family_of(env_id).versioned else re.sub(r"-v\d+$", "", env_id)
    if env_id not in _warned:
        _warned.add(env_id)
        logger.warning("%s is now called %s; using that", env_id, current)
    return current
