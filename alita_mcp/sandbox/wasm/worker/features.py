"""Settings of the engine, apart from it, since the server names compiled files by them without loading it."""

from __future__ import annotations

BASE_BYTES = 29 << 20
"""What an instance takes before it does anything; limits of memory come on top."""
STACK_BYTES = 3 << 19
"""More than 2 MB ends the process: the engine does not accept it."""
OFF = (
    "gc_support", "shared_memory", "wasm_component_model_implements", "wasm_component_model_map",
    "wasm_custom_page_sizes", "wasm_exceptions", "wasm_function_references", "wasm_gc", "wasm_memory64",
    "wasm_multi_memory", "wasm_relaxed_simd", "wasm_simd", "wasm_stack_switching", "wasm_tail_call",
    "wasm_threads", "wasm_wide_arithmetic",
)  # fmt: skip
"""What the component does without. Flaws of an engine are found in such parts; relaxed SIMD goes before SIMD."""
SETTINGS = f"epochs, stack {STACK_BYTES}, without {' '.join(OFF)}"
"""What the compiled code depends on besides component and engine; part of its name."""
