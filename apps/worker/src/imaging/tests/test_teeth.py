import itertools
import random
import unittest

from muster_imaging.teeth import ada_of_fdi, parse_teeth

# Written by hand from the two charts, tooth by tooth; nothing is computed.
chart = {
    11: 8, 12: 7, 13: 6, 14: 5, 15: 4, 16: 3, 17: 2, 18: 1,
    21: 9, 22: 10, 23: 11, 24: 12, 25: 13, 26: 14, 27: 15, 28: 16,
    31: 24, 32: 23, 33: 22, 34: 21, 35: 20, 36: 19, 37: 18, 38: 17,
    41: 25, 42: 26, 43: 27, 44: 28, 45: 29, 46: 30, 47: 31, 48: 32,
    51: "E", 52: "D", 53: "C", 54: "B", 55: "A",
    61: "F", 62: "G", 63: "H", 64: "I", 65: "J",
    71: "O", 72: "N", 73: "M", 74: "L", 75: "K",
    81: "P", 82: "Q", 83: "R", 84: "S", 85: "T",
}  # fmt: skip


class ToothData(unittest.TestCase):
    def test_all_52_teeth_are_known_and_no_other(self):
        self.assertEqual(len(chart), 52)
        self.assertEqual(ada_of_fdi, chart)
        for number in range(-100, 1000):
            wanted = {chart[number]} if number in chart else set()
            self.assertEqual(parse_teeth(str(number)), wanted, number)

    def test_a_primary_tooth_never_matches_a_number(self):
        numbers = set(range(1, 33))
        for fdi in (each for each in chart if each > 50):
            self.assertFalse(parse_teeth(str(fdi)) & numbers, fdi)
        self.assertEqual({ada for fdi, ada in chart.items() if fdi < 50}, numbers)

    def test_a_range_contains_the_teeth_between_its_ends_in_both_directions_and_only_in_one_quadrant(self):
        for first, last in itertools.product(range(10, 90), repeat=2):
            inside = first // 10 == last // 10 and first in chart and last in chart
            low, high = sorted((first, last))
            wanted = {chart[each] for each in range(low, high + 1)} if inside else set()
            self.assertEqual(parse_teeth(f"{first}-{last}"), wanted, (first, last))

    def test_any_mixture_of_numbers_ranges_and_separators_names_the_teeth_of_its_parts(self):
        dice = random.Random(20260131)
        separators = [",", ";", " ", ", ", " ; ", "  ", ",,", "\t"]
        for _ in range(3_000):
            wanted, parts = set(), []
            for _ in range(dice.randrange(8)):
                first = dice.choice(list(chart))
                last = dice.choice([each for each in chart if each // 10 == first // 10])
                if dice.random() < 0.5:
                    parts.append(str(first))
                    wanted.add(chart[first])
                else:
                    parts.append(f"{first}{dice.choice(['-', ' - ', '–'])}{last}")
                    wanted |= {chart[each] for each in range(min(first, last), max(first, last) + 1)}
            text = "".join(part + dice.choice(separators) for part in parts)
            self.assertEqual(parse_teeth(text), wanted, text)

    def test_text_that_is_not_a_tooth_is_ignored_and_does_not_affect_others(self):
        for text in ["", "A", "8", "1", "100", "011", "1 1", "11.5", "+11", "①①", "11-28", "18-21", "51-11", "-", "11-12-13", "<b>", "٢١"]:
            self.assertEqual(parse_teeth(text), set(), text)
        self.assertEqual(parse_teeth("x, 11; 99 21-38, 47"), {8, 31})
        self.assertEqual(parse_teeth("11," * 1_000_000), set())


if __name__ == "__main__":
    unittest.main()
