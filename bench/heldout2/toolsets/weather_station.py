import math
from typing import Literal

_NOW = {
    "zermatt": {"temperature": 1.6, "humidity": 71, "pressure": 838.6, "wind": 27},
    "bergen": {"temperature": 8.7, "humidity": 93, "pressure": 1002.3, "wind": 34},
    "cadiz": {"temperature": 24.9, "humidity": 58, "pressure": 1017.8, "wind": 19},
    "harbour mast": {"temperature": 13.2, "humidity": 82, "pressure": 1011.4, "wind": 46},
}


def _s(station):
    k = station.lower().strip().replace("á", "a")
    return k[4:] if k.startswith("the ") else k


def current_reading(station: str, quantity: Literal["temperature", "humidity", "pressure", "wind"]) -> float:
    """Read the latest value measured at a station.

    Args:
        station: Name of the station.
        quantity: What to read.
    """
    return _NOW[_s(station)][quantity.lower()]


def daily_extremes(station: str, date: str) -> dict:
    """Return the lowest and highest temperature of a day at a station."""
    t = _NOW[_s(station)]["temperature"]
    return {"low": round(t - 4.3, 1), "high": round(t + 5.6, 1), "date": date}


def rainfall_total(station: str, start_date: str, end_date: str) -> str:
    """Sum the rainfall at a station between two dates."""
    return f"{round(_NOW[_s(station)]['humidity'] * 0.83 + len(_s(station)), 1)} mm"


def set_alert(station: str, quantity: Literal["temperature", "humidity", "pressure", "wind"], threshold: float) -> str:
    """Send a warning when a quantity at a station rises above a threshold.

    Args:
        station: Name of the station.
        quantity: What to watch.
        threshold: Value above which to warn.
    """
    return f"Alert AL{len(_s(station)) * 50 + len(quantity) * 3 + int(float(threshold))} active"


def dew_point(temperature: float, humidity: float) -> float:
    """Calculate the dew point from a temperature in Celsius and a relative humidity in percent."""
    g = math.log(float(humidity) / 100) + 17.62 * float(temperature) / (243.12 + float(temperature))
    return round(243.12 * g / (17.62 - g), 1)


def calibrate_sensor(sensor_id: str, offset: float) -> str:
    """Correct a sensor by adding an offset to all its readings."""
    return f"{sensor_id}: offset {float(offset):+g}, calibration no. {sum(map(ord, sensor_id)) + 7}"


TOOLS = [current_reading, daily_extremes, rainfall_total, set_alert, dew_point, calibrate_sensor]
