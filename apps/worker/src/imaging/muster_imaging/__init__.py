"""Reads a dental practice's image files on its machine, and makes pictures of them that browsers and payers can read.

Standard library and Pillow. Nothing in here writes down whose a picture is: patients' names and numbers stay in memory
and in the answer.
"""
