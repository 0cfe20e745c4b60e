import colorsys

def _read(color: str) -> tuple[float, float, float]:
    red, green, blue = bytes.fromhex(color.removeprefix("#"))
    return colorsys.rgb_to_hls(red / 255, green / 255, blue / 255)

def mix_colors(first: str, second: str, share: float = 0.5) -> str:
    """The colour between two.

    Args:
        first: Such as #ff8000.
        second: The other one.
        share: Of the second one, 0 to 1.

    Raises:
        ValueError: A colour or the share cannot be read.
    """
    if not 0 <= share <= 1:
        raise ValueError("the share is 0 to 1")
    mixed = (a + (b - a) * share for a, b in zip(_read(first), _read(second), strict=True))
    return "#" + "".join(f"{round(part * 255):02x}" for part in colorsys.hls_to_rgb(*mixed))


DESCRIPTION = "Mixes two colours by their hue, lightness and saturation."
EXAMPLES = [{'arguments': {'first': '#ff0000', 'second': '#0000ff'}, 'expected': '#00ff00'},
 {'arguments': {'first': '#102030', 'second': '#ffffff', 'share': 0.0}, 'expected': '#102030'},
 {'arguments': {'first': '808080', 'second': '#40c040', 'share': 0.25}, 'expected': '#908070'},
 {'arguments': {'first': '#12', 'second': '#ffffff'}, 'raises': 'ValueError'},
 {'arguments': {'first': '#ffffff', 'second': '#ffffff', 'share': 2.0}, 'raises': 'ValueError'}]
