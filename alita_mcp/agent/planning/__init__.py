"""Plans of the manager agent: candidates, and the choice among them by recorded outcomes; pure functions."""
