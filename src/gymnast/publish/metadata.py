"""The head of a model card: what the Hub reads to list, filter and rank a model.

It is YAML; each text is written as JSON, which is YAML too, so that no text of a run can end its line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from gymnast.publish.score import PublishedScore
from gymnast.reports.text import clean

LIBRARY = "gymnast"
_LICENCE = re.compile(r"[a-z0-9][a-z0-9.-]{0,40}", re.ASCII)


def check_licence(licence: str) -> str | None:
    """What is wrong with an identifier of a licence; None if nothing is."""
    if _LICENCE.fullmatch(licence):
        return None
    return f"{licence!r} is not an identifier of a licence, such as mit, apache-2.0 or cc-by-4.0"


def front_matter(env: str, algo: str, licence: str, score: PublishedScore | None, *, has_video: bool) -> str:
    """The lines between `---` and `---`, with both."""
    lines = ["---", f"library_name: {LIBRARY}", f"license: {licence}", "tags:"]
    lines += [f"- {_text(tag)}" for tag in _tags(env, algo)]
    lines += ["pipeline_tag: reinforcement-learning"] if has_video or score is not None else []
    if score is not None:
        lines += _model_index(env, algo, score)
    return "\n".join([*lines, "---", ""])


def _tags(env: str, algo: str) -> Iterator[str]:
    known = (env, algo, "deep-reinforcement-learning", "reinforcement-learning", LIBRARY)
    yield from dict.fromkeys(clean(tag, 90) for tag in known if tag)


def _model_index(env: str, algo: str, score: PublishedScore) -> list[str]:
    return [
        "model-index:",
        f"- name: {_text(algo or LIBRARY)}",
        "  results:",
        "  - task:",
        "      type: reinforcement-learning",
        "      name: reinforcement-learning",
        "    dataset:",
        f"      name: {_text(env)}",
        f"      type: {_text(env)}",
        "    metrics:",
        "    - type: mean_reward",
        f"      value: {_text(score.text)}",
        "      name: mean_reward",
        "      verified: false",
    ]


def _text(text: str) -> str:
    return json.dumps(clean(text, 90), ensure_ascii=False)
