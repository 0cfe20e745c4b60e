"""Commands that prepare a machine: clients, sandboxes, environments."""
