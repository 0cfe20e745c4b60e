"""Measurements that the documentation quotes; `make bench NAME=calls` runs one from a checkout."""
