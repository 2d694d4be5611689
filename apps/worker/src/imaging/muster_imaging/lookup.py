"""Finds the patient that a lookup means. Every form is compared with all patients, because the match must be unique."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Optional

from .faults import CommandFault

longest_lookup = 500

# A separate number, which is not part of a date, a telephone number or an amount.
_number = r"(?<![\w.,/+-])([0-9]+)(?![\w/-]|[.,][0-9])"
_after_word = re.compile(
    r"(?<!\w)PATIMAGEID(?:[\W_]?|[\W_]{0,10}?(?<![.,/+-](?=[0-9])))([0-9]+)(?![\w/-]|[.,][0-9])", re.IGNORECASE
)
_word = re.compile(r"(?<!\w)PATIMAGEID(?![^\W\d_])", re.IGNORECASE)
_any_number = re.compile(_number)
_sign = re.compile(r"(?<![\w#])#\s?([0-9]+)(?![\w/-]|[.,][0-9])")

# Letters whose stroke or ligature is not a combining mark that could be removed.
_plain_letters = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})
_quotes = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "`": "'", "\u00b4": "'"})


@dataclass(frozen=True)
class Patient:
    # PATIMAGEID without leading zeros; None if the practice has not assigned one to the patient.
    patimageid: Optional[str]
    chart: Optional[str]
    first_name: str
    last_name: str

    @property
    def name(self):
        return ", ".join(part for part in (self.last_name, self.first_name) if part)


def find_patient(lookup, patients):
    """Returns the one patient that the lookup means. The first form that matches any patient counts."""
    forms = _list_forms(lookup)
    found = [set() for _ in forms]
    for patient in patients:
        for form, those in zip(forms, found):
            if form(patient):
                those.add(patient)
    for those in found:
        if len(those) == 1:
            return next(iter(those))
        if those:
            raise CommandFault("patient_ambiguous", f"{len(those)} patients answer to this lookup")
    raise CommandFault("patient_not_found", "no patient answers to this lookup")


def normalize_id(text):
    """Returns a PATIMAGEID without leading zeros, or None if the text is not a PATIMAGEID."""
    text = text.strip()
    return text.lstrip("0") or "0" if re.fullmatch("[0-9]{1,40}", text) else None


def _list_forms(lookup):
    text = lookup.strip()
    if not text or len(text) > longest_lookup:
        return []
    if re.fullmatch("[0-9]+", text):
        return _list_forms_of_digits(text)
    ids = _find_ids(text)
    if len(ids) > 1:
        raise CommandFault("patient_ambiguous", f"the lookup names {len(ids)} PATIMAGEIDs")
    name = _normalize_name(text)
    return [
        *([lambda patient: patient.patimageid in ids] if ids else []),
        *_list_forms_of_chart(text),
        *([lambda patient: name in _list_names(patient)] if name else []),
    ]


def _list_forms_of_digits(text):
    wanted = normalize_id(text)
    by_id = lambda patient: wanted is not None and patient.patimageid == wanted  # noqa: E731
    by_chart = _list_forms_of_chart(text)
    # Ids are not written with leading zeros, but charts often are. If both match, the lookup is ambiguous.
    if text != wanted:
        return [lambda patient: by_id(patient) or by_chart[0](patient)]
    return [by_id, *by_chart]


def _list_forms_of_chart(text):
    folded = text.casefold()
    return [
        lambda patient: patient.chart is not None and patient.chart == text,
        lambda patient: patient.chart is not None and patient.chart.casefold() == folded,
    ]


def _find_ids(text):
    """Returns the ids of a label: numbers after PATIMAGEID, else the only number; without that word, after `#`."""
    if _word.search(text):
        named = _after_word.findall(text) or _any_number.findall(text)
        numbers = set(named)
        # Several numbers, and none directly after the word: it is not clear which one is meant.
        if not _after_word.search(text) and len(numbers) > 1:
            return set()
    else:
        numbers = set(_sign.findall(text))
    return {normalize_id(number) for number in numbers} - {None}


def _list_names(patient):
    first, last = _normalize_name(patient.first_name), _normalize_name(patient.last_name)
    if not first or not last:
        return {first or last} - {""}
    return {f"{last},{first}", f"{first} {last}"}


def _normalize_name(text):
    """Returns a name in lower case, without accents and with single spaces."""
    folded = unicodedata.normalize("NFKD", text.translate(_quotes).casefold()).translate(_plain_letters)
    bare = "".join(each for each in folded if not unicodedata.combining(each))
    return re.sub(r"\s*,\s*", ",", " ".join(bare.split()))
