"""Library of tools: files on disk, a catalogue, a journal, grants, and search."""
