"""What runs inside a sandbox: the supervisor (PID 1, never runs tool code) and the child that does.

Standard library only. The host sends these files over stdin (`sandbox.wire.bundle`); nothing is baked in or mounted.
"""
