"""Differences of colours, for all readers and as deuteranopes see them."""

from itertools import combinations

import numpy as np

TO_LMS = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
TWENTY_FIVE = 25.0**7


def least_difference(colours):
    """The smallest difference of two colours (n, 3) in 0 to 255, for all readers and deuteranopes, by both formulas."""
    seen = [place(np.array(colours)) for place in (lab, seen_by_deuteranopes)]
    pairs = [(one, other) for places in seen for one, other in combinations(places, 2)]
    return min(min(float(np.linalg.norm(one - other)), float(ciede2000(one, other))) for one, other in pairs)


def lab(colours):
    """CIELAB of colours (n, 3) in 0 to 255."""
    return _lab(_linear(colours))


def seen_by_deuteranopes(colours):
    """CIELAB of colours for readers without green cones (Vienot, Brettel and Mollon 1999)."""
    lms = _linear(colours) @ TO_LMS.T
    lms[:, 1] = 0.494207 * lms[:, 0] + 1.24827 * lms[:, 2]
    return _lab(np.clip(lms @ np.linalg.inv(TO_LMS).T, 0, 1))


def _linear(colours):
    shares = np.asarray(colours) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def _lab(rgb):
    xyz = rgb @ TO_XYZ.T / TO_XYZ.sum(1)
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * root[:, 1] - 16, 500 * (root[:, 0] - root[:, 1]), 200 * (root[:, 1] - root[:, 2])], axis=1)


def ciede2000(one, other):
    """Differences of colours in CIELAB by CIEDE2000, with the names of Sharma, Wu and Dalal (2005)."""
    (l1, a1, b1), (l2, a2, b2) = np.moveaxis(np.asarray(one), -1, 0), np.moveaxis(np.asarray(other), -1, 0)
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + TWENTY_FIVE))
    (c1, h1), (c2, h2) = _polar(stretch * a1, b1), _polar(stretch * a2, b2)
    l_mean, c_mean = (l1 + l2) / 2, (c1 + c2) / 2
    apart = np.where(c1 * c2 == 0, 0.0, h2 - h1)
    turn = np.where(np.abs(apart) <= 180, apart, apart - np.copysign(360, apart))
    h_mean = np.radians(np.where(c1 * c2 == 0, h1 + h2, h1 + turn / 2))
    in_l = (l2 - l1) / (1 + 0.015 * (l_mean - 50) ** 2 / np.sqrt(20 + (l_mean - 50) ** 2))
    in_c = (c2 - c1) / (1 + 0.045 * c_mean)
    in_h = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * c_mean * _of_hue(h_mean))
    away = (np.degrees(h_mean) % 360 - 275) / 25
    rotation = -2 * np.sqrt(c_mean**7 / (c_mean**7 + TWENTY_FIVE)) * np.sin(np.radians(60 * np.exp(-(away**2))))
    return np.sqrt(in_l**2 + in_c**2 + in_h**2 + rotation * in_c * in_h)


def _polar(a, b):
    return np.hypot(a, b), np.degrees(np.arctan2(b, a)) % 360


def _of_hue(h):
    """T, the weight of hues."""
    terms = ((-0.17, 1, 30), (0.24, 2, 0), (0.32, 3, -6), (-0.20, 4, 63))
    return 1 + sum(weight * np.cos(times * h - np.radians(minus)) for weight, times, minus in terms)
