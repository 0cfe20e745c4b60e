"""Pools of booted sandbox processes, and the calls that they serve."""
