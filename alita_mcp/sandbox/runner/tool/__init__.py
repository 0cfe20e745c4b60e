"""The process inside a sandbox that loads a tool and calls it; standard library only."""
