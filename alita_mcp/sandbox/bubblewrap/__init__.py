"""Bubblewrap sandbox: a process in namespaces of its own, limited by a control group."""
