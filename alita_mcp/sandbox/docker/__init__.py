"""Docker sandbox: a container that is started once and serves call after call."""
