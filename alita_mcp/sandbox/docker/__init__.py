"""The sandbox of a Docker engine: a container that is started once and serves call after call."""
