"""Properties gate: checks general properties of a tool on generated inputs."""
