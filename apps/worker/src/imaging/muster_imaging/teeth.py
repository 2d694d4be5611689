"""Which teeth an image shows: from FDI's two digits, as the data file has them, to the numbers and letters of the ADA."""

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

# FDI's number to the ADA's: a number for a permanent tooth, a letter for a primary one.
ada_of_fdi = {
    quadrant * 10 + place: ada for quadrant, teeth in _quadrants.items() for place, ada in enumerate(teeth, start=1)
}

_separators = re.compile(r"[,;\s]+")
_dash = re.compile(r"\s*[-\u2010-\u2015]\s*")
_number = re.compile(r"[0-9]{2}")
_range = re.compile(r"([1-8])([0-9])-([1-8])([0-9])")
_longest = 4_096


def teeth_of(text):
    """The ADA's names of the teeth in a field of tooth data. What is no tooth, or no range in one quadrant, names none."""
    found = set()
    # Longer than all teeth by far: whatever it is, it is no tooth data.
    if len(text) > _longest:
        return found
    for word in _separators.split(_dash.sub("-", text.strip())):
        for number in _numbers_of(word):
            ada = ada_of_fdi.get(number)
            if ada is not None:
                found.add(ada)
    return found


def _numbers_of(word):
    if _number.fullmatch(word):
        return [int(word)]
    ends = _range.fullmatch(word)
    if not ends or ends[1] != ends[3]:
        return []
    first, last = sorted((int(ends[1] + ends[2]), int(ends[3] + ends[4])))
    # A range to where no tooth is was meant as something else.
    return range(first, last + 1) if first in ada_of_fdi and last in ada_of_fdi else []
