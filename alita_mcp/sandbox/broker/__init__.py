"""The broker: requests of tools to the host, carried out under the grants of each version."""
