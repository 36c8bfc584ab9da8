"""A language model's share of the proposals, where an endpoint is configured as for `gymnast review`.

What it answers is text from outside: each proposal is checked as a review's are, and dropped if it does not
pass. A model that cannot be reached costs its share of the round, not the tune.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gymnast.config.overrides import parse_override
from gymnast.errors import GymnastError
from gymnast.redact import redact
from gymnast.reports.text import clean
from gymnast.review.answer import parse_answer
from gymnast.review.bundle import Bundle, build_bundle
from gymnast.review.client import ask
from gymnast.review.endpoint import Endpoint, find_endpoint
from gymnast.review.patience import Patience
from gymnast.review.proposals import check_proposal
from gymnast.tune.evidence import Symptom
from gymnast.tune.legs import Legs
from gymnast.tune.present import Changes
from gymnast.tune.proposals import ByModel

_MAY_CHANGE = ("algo.", "policy.", "explore", "env.n_envs")
_MOST_SHOWN = 12  # candidates of earlier rounds


def endpoint_or_none() -> Endpoint | None:
    """The configured endpoint; None if there is no key or no model."""
    try:
        return find_endpoint()
    except GymnastError:
        return None


def proposals_by_model(legs: Legs, symptoms: Sequence[Symptom]) -> ByModel | None:
    """What asks the model; None if there is nobody to ask."""
    endpoint = endpoint_or_none()
    if endpoint is None:
        return None

    def propose(most: int) -> Iterator[tuple[Changes, str]]:
        try:
            yield from _asked(endpoint, legs, symptoms, most)
        except GymnastError as error:
            legs.notify(f"the model made no proposals: {redact(str(error)).splitlines()[0]}")

    return propose


def _asked(
    endpoint: Endpoint, legs: Legs, symptoms: Sequence[Symptom], most: int
) -> Iterator[tuple[Changes, str]]:
    runs = {run_id: legs.root_run(run_id) for run_id in legs.state.incumbent.values()}
    bundle = _with_history(build_bundle(list(runs.values()), short=True), legs, symptoms, most)
    asking = ask(endpoint, bundle, Patience())
    while True:  # the pieces of the answer are of no use here
        try:
            next(asking)
        except StopIteration as done:
            text = done.value.text
            break
    for suggestion in parse_answer(text, bundle.data).suggestions:
        proposal = check_proposal(suggestion, runs)
        if not proposal.is_ready:
            legs.notify(
                f"the model's proposal {clean(suggestion.title, 60)!r} is dropped: {proposal.problem}"
            )
            continue
        pairs = [parse_override(word) for word in proposal.overrides]
        edit = {".".join(path): value for path, value in pairs}
        if all(key.startswith(_MAY_CHANGE) for key in edit):  # not the seed, or how the score is measured
            yield edit, clean(proposal.why, 200)


def _with_history(bundle: Bundle, legs: Legs, symptoms: Sequence[Symptom], most: int) -> Bundle:
    """The runs, and what this tune has seen and tried."""
    lines = [f"=== tuning: propose at most {most} changes that no round has tried, best first"]
    lines += [
        f"symptom {s.name} ({s.severity}, from step {s.first_step}): {clean(s.seen, 160)}" for s in symptoms
    ]
    tried = [each for every in legs.state.rounds for each in every.candidates][-_MOST_SHOWN:]
    for each in tried:
        changed = ", ".join(f"{key}={value}" for key, value in each.edit.items())
        lines.append(f"tried {clean(changed, 200)}: {each.status}, differences {each.deltas}")
    data = bundle.data + "\n\n" + redact("\n".join(lines))
    boundary = hashlib.sha256(data.encode(errors="replace")).hexdigest()[:24]
    return replace(bundle, data=data, boundary=boundary)
