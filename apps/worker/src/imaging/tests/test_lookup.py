import random
import unittest

from muster_imaging.faults import CommandFault
from muster_imaging.lookup import Patient, find_patient

ann = Patient("1234", "C-77", "Ann", "Smith")
other_ann = Patient("1235", "C-78", "ANN", "smith")
jose = Patient("42", "1234", "José María", "Muñoz")
mary_ann = Patient("7", "0042", "Mary Ann", "Jones")
maryann = Patient("8", "A#12", "MaryAnn", "Jones")
lukasz = Patient("9", None, "Łukasz", "O’Brien")
without_id = Patient(None, "N-1", "Nell", "Neu")
nameless = Patient("10", "", "", "")
shadow = Patient("12", "9999999", "Chart", "Twelve")
everybody = [ann, other_ann, jose, mary_ann, maryann, lukasz, without_id, nameless, shadow]

# Each lookup with the patient that it means or the error code, written by hand.
table = [
    # Digits: PATIMAGEID, then chart.
    ("1234", ann),
    (" 1234 ", ann),
    ("42", jose),
    ("9999999", shadow),
    ("0000", "patient_not_found"),
    ("77", "patient_not_found"),
    # With leading zeros it is one patient's id and another patient's chart, which is ambiguous.
    ("0042", "patient_ambiguous"),
    ("00007", mary_ann),
    ("12" * 200, "patient_not_found"),
    # Labels.
    ("Smith, Ann (PATIMAGEID: 1234)", ann),
    ("Smith, Ann (PATIMAGEID: 1235)", other_ann),
    ("smith, ann patimageid=1235", other_ann),
    ("[PatImageId #42] Other, Name", jose),
    ("PATIMAGEID-1234", ann),
    ("PATIMAGEID - 1234", ann),
    ("PATIMAGEID1234", ann),
    ("PATIMAGEID_0042", jose),
    ("1234 is the PATIMAGEID", ann),
    ("Smith, Ann 1970-01-02 PATIMAGEID 1234", ann),
    ("Smith, Ann, 555-1235, PATIMAGEID: 1234.", ann),
    ("Muñoz #42", jose),
    ("#1234", ann),
    ("# 1234", ann),
    ("Smith #12 (PATIMAGEID: 1234)", ann),
    ("<b>Smith</b> (PATIMAGEID: 1234)", ann),
    # A label with an unknown number, or with more than a plain number, does not match a similar number.
    ("Smith, Ann (PATIMAGEID: 99)", "patient_not_found"),
    ("PATIMAGEID: 1,234", "patient_not_found"),
    ("PATIMAGEID: 12,34", "patient_not_found"),
    ("PATIMAGEID: 12.34", "patient_not_found"),
    ("PATIMAGEID: 12/34", "patient_not_found"),
    ("PATIMAGEID 1234-56", "patient_not_found"),
    ("PATIMAGEID: 1234a", "patient_not_found"),
    ("PATIMAGEID: x1234", "patient_not_found"),
    ("PATIMAGEIDS 1234", "patient_not_found"),
    ("xPATIMAGEID 1234", "patient_not_found"),
    ("12 and 42 PATIMAGEID", "patient_not_found"),
    ("PATIMAGEID", "patient_not_found"),
    ("#1,234", "patient_not_found"),
    ("PATIMAGEID 1234, PATIMAGEID 1235", "patient_ambiguous"),
    ("#1234 #42", "patient_ambiguous"),
    # Charts.
    ("C-77", ann),
    ("c-78", other_ann),
    ("N-1", without_id),
    ("A#12", maryann),
    ("C77", "patient_not_found"),
    ("C-7", "patient_not_found"),
    # Names.
    ("Muñoz, José María", jose),
    ("munoz,jose maria", jose),
    ("  JOSÉ   MARÍA   MUÑOZ ", jose),
    ("Mun\u0303oz , Jose\u0301 Mari\u0301a", jose),
    ("Lukasz O'Brien", lukasz),
    ("Jones, Mary Ann", mary_ann),
    ("mary  ann jones", mary_ann),
    ("Jones, MaryAnn", maryann),
    ("MaryAnn Jones", maryann),
    ("Jones, Mary  Ann", mary_ann),
    ("Neu, Nell", without_id),
    ("Smith, Ann", "patient_ambiguous"),
    ("Ann Smith", "patient_ambiguous"),
    ("Smith Ann", "patient_not_found"),
    ("Smith", "patient_not_found"),
    ("Ann", "patient_not_found"),
    ("Smith,", "patient_not_found"),
    ("Ann, Smith", "patient_not_found"),
    ("Jones, Mary", "patient_not_found"),
    ("%", "patient_not_found"),
    ("' OR 1=1 --", "patient_not_found"),
    ("", "patient_not_found"),
    (",", "patient_not_found"),
    ("\u0301", "patient_not_found"),
    ("Smith" * 2_000, "patient_not_found"),
]


def find_id_or_error(lookup, patients):
    try:
        return find_patient(lookup, patients)
    except CommandFault as fault:
        return fault.code


class Lookups(unittest.TestCase):
    def test_each_lookup_means_the_patient_in_the_table_for_any_order_of_the_rows(self):
        dice = random.Random(7)
        for lookup, wanted in table:
            for _ in range(3):
                rows = dice.sample(everybody, len(everybody))
                self.assertEqual(find_id_or_error(lookup, rows), wanted, lookup)

    def test_names_are_found_in_any_case_with_any_accents_and_spaces(self):
        dice = random.Random(8)
        marks = ["\u0301", "\u0303", "\u0308"]
        for first, last in [("Ann", "Smith"), ("Mary Ann", "de la Cruz"), ("Zoë", "Ångström")]:
            patient = Patient("5", "x", first, last)
            near = [Patient("6", "y", first.replace(" ", "") + "a", last), Patient("7", "z", last, first)]
            for form in (f"{last}, {first}", f"{first} {last}"):
                for _ in range(200):
                    text = "".join(dice.choice([each.upper(), each.lower()]) for each in form)
                    text = "".join(each + dice.choice(["", "", *marks]) if each.isalpha() else each for each in text)
                    text = text.replace(" ", " " * dice.randrange(1, 4))
                    self.assertIs(find_id_or_error(text, [*near, patient]), patient, text)

    def test_an_ambiguity_reports_the_number_of_patients_but_no_names(self):
        with self.assertRaises(CommandFault) as caught:
            find_patient("Smith, Ann", everybody)
        self.assertEqual(str(caught.exception), "2 patients answer to this lookup")
        with self.assertRaises(CommandFault) as caught:
            find_patient("Secret, Name", everybody)
        self.assertNotIn("Secret", str(caught.exception))

    def test_a_repeated_row_is_one_patient_but_an_id_with_two_names_is_ambiguous(self):
        self.assertIs(find_id_or_error("1234", [ann, ann]), ann)
        self.assertEqual(find_id_or_error("1234", [ann, Patient("1234", "C-99", "Bob", "Other")]), "patient_ambiguous")

    def test_numbers_close_to_a_patients_id_do_not_find_the_patient(self):
        for number in range(2_000):
            wanted = {1234: ann, 1235: other_ann}.get(number, "patient_not_found")
            for lookup in (str(number), f"#{number}", f"Smith, Ann (PATIMAGEID: {number})"):
                self.assertEqual(find_id_or_error(lookup, [ann, other_ann]), wanted, lookup)


if __name__ == "__main__":
    unittest.main()
