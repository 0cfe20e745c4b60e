"""The flow of a task: a request in, a run of the manager agent over the opened parts of an app, its solution out."""
