"""`--on WHERE` as settings: where the experience of a run is collected."""

from __future__ import annotations

from gymnast.errors import GymnastError, did_you_mean

_FORMS = "none, local:K (K actors on this machine), ray, ray://HOST:PORT, or modal"


def settings_of(where: str) -> dict[str, object]:
    """The settings of `cluster` that a text such as 'ray://10.0.0.5:6379' stands for.

    A port other than 10001, that of Ray's client server, is the cluster's own: from one of its machines.
    """
    kind, _, rest = where.partition(":")
    if where == "none":
        return {"cluster.on": "none", "cluster.address": None}
    if kind == "local":
        if rest and not (rest.isdecimal() and int(rest)):
            raise GymnastError(f"--on {where}: {rest!r} is not a number of actors; write local:4")
        return {"cluster.on": "local", "cluster.address": None, "cluster.actors": int(rest or 0) or "auto"}
    if where == "ray":
        return {"cluster.on": "ray", "cluster.address": None}
    if where.startswith("ray://"):
        address = where.removeprefix("ray://")
        if not address:  # a variable that is not set, perhaps: a cluster was meant
            raise GymnastError(f"--on {where}: of which cluster? Write ray://HOST:6379, or ray without it")
        return {"cluster.on": "ray", "cluster.address": where if address.endswith(":10001") else address}
    meant = did_you_mean(where, ["none", "local", "ray", "modal"])
    raise GymnastError(f"--on {where}: there is no such place{meant}; it is {_FORMS}")
