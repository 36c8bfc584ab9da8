"""The policy that a trace was recorded of, from its run."""

from __future__ import annotations

from gymnast.config.overrides import Overrides
from gymnast.envs.contract import close_env
from gymnast.envs.mix.build import mix_form
from gymnast.envs.single import make_env
from gymnast.errors import GymnastError
from gymnast.insight.quiet import random_numbers_kept
from gymnast.insight.subject import Subject, study
from gymnast.policies.load import load_policy
from gymnast.runs.checkpoint import Checkpoint, load_policy_arrays
from gymnast.runs.trust import load_run_config
from gymnast.traces.trace import Trace


def study_run(
    checkpoint: Checkpoint, trace: Trace, *, overrides: Overrides = (), trust: bool = False
) -> Subject:
    """The checkpoint's policy, built for the env that the trace was recorded on, with the trace."""
    config = load_run_config(checkpoint.run, overrides, file=checkpoint.config_path(), trust=trust)
    arrays = load_policy_arrays(checkpoint)[0]
    training = config.eval.training_wrappers
    with random_numbers_kept():
        if config.env.mix is None:
            env = make_env(config.env, training=training)
            try:
                policy = load_policy(config, env.observation_space, env.action_space, arrays)
            finally:
                close_env(env)
            return study(policy, trace)
        form = mix_form(config.env, training=training)
        policy = load_policy(config, form.observation_space, form.action_space, arrays)
    if trace.meta.task not in form.names:
        raise GymnastError(f"the trace is of task {trace.meta.task!r}; the run's are {', '.join(form.names)}")
    block = None if form.blocks is None else form.block(form.names.index(trace.meta.task))
    return study(policy, trace, block)
