"""Trackers: W&B, TensorBoard and Trackio, each fed by a thread and run in a process of its own.

A tracker's library may be slow, hang, print, install signal handlers or crash, and it holds Python's lock
while it works: in a process of its own none of this reaches the training, and a process can be ended. The
training thread puts a row into a bounded queue (`tracker.py`); a thread sends what is there to the process a
few times per second; the process (`process.py`) hands it to the library (`wandb.py`, `tensorboard.py`,
`trackio.py`). A new tracker is one backend, and its settings in `settings.py`.
"""
