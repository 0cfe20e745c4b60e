"""Matplotlib back end whose `plt.show()` keeps the open figures for the reply."""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any

warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")  # of `figure.show()`
FigureCanvas: Any = importlib.import_module("matplotlib.backends.backend_agg").FigureCanvasAgg


def show(*_arguments: Any, **_options: Any) -> None:
    """Shows the figures that are open and closes them, as in notebooks."""
    sys.modules["tool"].part("figures").show_open()
