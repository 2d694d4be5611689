"""Parses the teeth that an image shows: from FDI's two digits in the data file to the ADA's numbers and letters."""

import re

# A quadrant's teeth in FDI's order, from the middle of the jaw outwards.
_quadrants = {
    1: range(8, 0, -1),
    2: range(9, 17),
    3: range(24, 16, -1),
    4: range(25, 33),
    5: "EDCBA",
    6: "FGHIJ",
    7: "ONMLK",
    8: "PQRST",
}

# ADA name by FDI number: a number for a permanent tooth, a letter for a primary one.
ada_of_fdi = {
    quadrant * 10 + place: ada for quadrant, teeth in _quadrants.items() for place, ada in enumerate(teeth, start=1)
}

_separators = re.compile(r"[,;\s]+")
_dash = re.compile(r"\s*[-\u2010-\u2015]\s*")
_number = re.compile(r"[0-9]{2}")
_range = re.compile(r"([1-8])([0-9])-([1-8])([0-9])")
_longest = 4_096


def parse_teeth(text):
    """Returns the ADA names of the teeth in tooth data. Ignores all but teeth and ranges in one quadrant."""
    found = set()
    # Text that is far longer than a list of all teeth is not tooth data.
    if len(text) > _longest:
        return found
    for word in _separators.split(_dash.sub("-", text.strip())):
        for number in _parse_numbers(word):
            ada = ada_of_fdi.get(number)
            if ada is not None:
                found.add(ada)
    return found


def _parse_numbers(word):
    if _number.fullmatch(word):
        return [int(word)]
    ends = _range.fullmatch(word)
    if not ends or ends[1] != ends[3]:
        return []
    first, last = sorted((int(ends[1] + ends[2]), int(ends[3] + ends[4])))
    # A range whose ends are not teeth is something else.
    return range(first, last + 1) if first in ada_of_fdi and last in ada_of_fdi else []
