"""Sandboxes, the only places where generated code runs: one interface, several back ends."""
