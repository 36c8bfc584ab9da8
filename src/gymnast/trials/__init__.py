"""Trials: legs of runs that others (a sweep, the autotuner) order, trained one after the other in warm processes.

`trial.py` has the protocol, `pool.py` the executor of this machine, `leg.py` what an executor's process does.
"""
