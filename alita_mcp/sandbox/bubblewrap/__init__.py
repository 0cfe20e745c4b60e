"""The sandbox of bubblewrap: a process in namespaces of its own, limited by a control group."""
