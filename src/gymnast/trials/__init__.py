"""Trials: legs of runs that a sweep or the autotuner orders, trained one after the other in warm processes.

`trial.py` has the protocol, `pool.py` the executor of this machine, `ray_executor.py` and `modal_executor.py`
those of others, `leg.py` what an executor's process does.
"""
