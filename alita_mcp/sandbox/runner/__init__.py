"""The programs inside a sandbox: the supervisor (PID 1, never runs tool code) and the processes that do.

Standard library only. The host sends these files over stdin (`sandbox.wire.bundle`); nothing is baked in or mounted.
"""
