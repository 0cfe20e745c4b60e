"""Conversion between units of measurement, by the exact definitions."""

from __future__ import annotations

import math

_FACTORS = {
    "length": {
        "m": 1, "km": 1000, "dm": 0.1, "cm": 0.01, "mm": 0.001, "um": 1e-6, "nm": 1e-9, "in": 0.0254, "ft": 0.3048,
        "yd": 0.9144, "mi": 1609.344, "nmi": 1852,
    },
    "mass": {
        "kg": 1, "g": 0.001, "mg": 1e-6, "ug": 1e-9, "t": 1000, "lb": 0.45359237, "oz": 0.028349523125,
        "st": 6.35029318, "us_ton": 907.18474, "uk_ton": 1016.0469088,
    },
    "area": {
        "m2": 1, "km2": 1e6, "cm2": 1e-4, "mm2": 1e-6, "ha": 1e4, "in2": 0.00064516, "ft2": 0.09290304,
        "yd2": 0.83612736, "acre": 4046.8564224, "mi2": 2589988.110336,
    },
    "volume": {
        "l": 0.001, "ml": 1e-6, "cl": 1e-5, "dl": 1e-4, "m3": 1, "cm3": 1e-6, "in3": 1.6387064e-5, "ft3": 0.028316846592,
        "us_gal": 0.003785411784, "us_qt": 0.000946352946, "us_pt": 0.000473176473, "us_cup": 0.0002365882365,
        "us_floz": 2.95735295625e-5, "us_tbsp": 1.478676478125e-5, "us_tsp": 4.92892159375e-6, "uk_gal": 0.00454609,
        "uk_pt": 0.00056826125, "uk_floz": 2.84130625e-5,
    },
    "speed": {"m/s": 1, "km/h": 1 / 3.6, "mph": 0.44704, "kn": 1852 / 3600, "ft/s": 0.3048},
    "time": {"s": 1, "ms": 0.001, "us": 1e-6, "ns": 1e-9, "min": 60, "h": 3600, "d": 86400, "week": 604800},
    "data": {
        "bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "byte": 8, "kb": 8e3, "mb": 8e6, "gb": 8e9, "tb": 8e12, "kib": 8192, "mib": 8388608,
        "gib": 8589934592, "tib": 8796093022208,
    },
    "pressure": {"pa": 1, "hpa": 100, "kpa": 1000, "bar": 1e5, "mbar": 100, "atm": 101325, "psi": 6894.757293168361,
                 "mmhg": 133.322387415},
    "energy": {"j": 1, "kj": 1000, "cal": 4.184, "kcal": 4184, "wh": 3600, "kwh": 3.6e6, "btu": 1055.05585262},
    "temperature": {"c": 1, "f": 1, "k": 1},
}
_ALIASES = {
    "meter": "m", "metre": "m", "kilometer": "km", "kilometre": "km", "centimeter": "cm", "centimetre": "cm",
    "millimeter": "mm", "millimetre": "mm", "inch": "in", "inche": "in", "foot": "ft", "feet": "ft", "yard": "yd",
    "mile": "mi", "nautical mile": "nmi", "kilogram": "kg", "gram": "g", "milligram": "mg", "tonne": "t",
    "pound": "lb", "ounce": "oz", "stone": "st", "hectare": "ha", "square meter": "m2", "square metre": "m2",
    "square foot": "ft2", "square feet": "ft2", "acres": "acre", "liter": "l", "litre": "l", "milliliter": "ml",
    "millilitre": "ml", "gallon": "us_gal", "gal": "us_gal", "quart": "us_qt", "pint": "us_pt", "cup": "us_cup",
    "fluid ounce": "us_floz", "tablespoon": "us_tbsp", "tbsp": "us_tbsp", "teaspoon": "us_tsp", "tsp": "us_tsp",
    "kph": "km/h", "kmh": "km/h", "mp/h": "mph", "knot": "kn", "second": "s", "sec": "s", "minute": "min",
    "hour": "h", "hr": "h", "day": "d", "millisecond": "ms", "kilobyte": "kb", "megabyte": "mb", "gigabyte": "gb",
    "terabyte": "tb", "kibibyte": "kib", "mebibyte": "mib", "gibibyte": "gib", "tebibyte": "tib", "pascal": "pa",
    "atmosphere": "atm", "joule": "j", "calorie": "cal", "kilocalorie": "kcal", "kilowatt hour": "kwh",
    "kilobit": "kbit", "megabit": "mbit", "gigabit": "gbit", "celsius": "c", "°c": "c", "fahrenheit": "f", "°f": "f", "kelvin": "k",
}
_AMBIGUOUS = {"kb": "kB or kbit", "Kb": "kB or kbit", "Mb": "MB or Mbit", "Gb": "GB or Gbit", "Tb": "TB", "b": "bit or byte",
              "B": "bit or byte", "Cal": "cal or kcal", "Mm": "mm or km", "ton": "t, us_ton or uk_ton",
              "tons": "t, us_ton or uk_ton"}


def convert_units(value: float, from_unit: str, to_unit: str) -> float:
    """Converts between units of length, mass, area, volume, speed, time, data, pressure, energy or temperature.

    Args:
        value: Number to convert.
        from_unit: Symbol or English name: km, miles, °F, GiB. Gallons, pints and fl oz are US; else uk_gal, uk_pt,
            uk_floz.
        to_unit: Unit wanted.

    Returns:
        The converted number, to 12 significant digits.

    Raises:
        ValueError: A unit is unknown or ambiguous, the two measure different things, the temperature is below absolute
            zero, or the result is too large for a number.
    """
    if not math.isfinite(value):
        raise ValueError("the value must be a finite number")
    source, target = _unit(from_unit), _unit(to_unit)
    kind = _kind(source)
    if kind != _kind(target):
        raise ValueError(f"{from_unit!r} measures {kind}, {to_unit!r} measures {_kind(target)}")
    if kind == "temperature":
        return _rounded(_from_kelvin(_to_kelvin(value, source), target))
    return _rounded(value * _FACTORS[kind][source] / _FACTORS[kind][target])


def _unit(name: str) -> str:
    if name.strip() in _AMBIGUOUS:
        raise ValueError(f"{name!r} is ambiguous: write {_AMBIGUOUS[name.strip()]}")
    plain = " ".join(name.strip().lower().replace("²", "2").replace("³", "3").replace("µ", "u").replace("μ", "u").split())
    for candidate in (plain, plain[:-1] if plain.endswith("s") and len(plain) > 2 else plain):
        found = _ALIASES.get(candidate, candidate)
        if any(found in units for units in _FACTORS.values()):
            return found
    raise ValueError(f"unknown unit {name!r}")


def _kind(unit: str) -> str:
    return [kind for kind, units in _FACTORS.items() if unit in units][0]


def _to_kelvin(value: float, unit: str) -> float:
    kelvin = {"c": value + 273.15, "f": (value + 459.67) * 5 / 9, "k": value}[unit]
    if kelvin < -1e-9:
        raise ValueError("the temperature is below absolute zero")
    return kelvin


def _from_kelvin(kelvin: float, unit: str) -> float:
    return {"c": kelvin - 273.15, "f": kelvin * 9 / 5 - 459.67, "k": kelvin}[unit]


def _rounded(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("the result is too large")
    if number == 0:
        return 0.0
    return float(f"{number:.11e}")
