"""Runs of tasks as they are kept: requests, events, values and models' answers in, listings and estimates out."""
