"""Gymnast: a config-first reinforcement-learning workbench."""

__version__ = "0.1.0"
