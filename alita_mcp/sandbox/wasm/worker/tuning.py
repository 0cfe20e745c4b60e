"""How the engine is set up; apart from the engine, which takes long to import, so that the server can name it too."""

from __future__ import annotations

STACK_BYTES = 3 << 19
"""More than 2 MB ends the process: the engine does not accept it."""
SETTINGS = f"epochs, stack {STACK_BYTES}"
"""What the compiled code depends on besides component and engine; part of its name."""
