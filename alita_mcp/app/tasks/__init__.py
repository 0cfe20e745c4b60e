"""Flow of a task: a run of the manager agent over the opened parts of an app."""
