"""Trust levels that verification grants, and the evidence card that explains one."""
