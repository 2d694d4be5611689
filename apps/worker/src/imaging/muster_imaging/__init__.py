"""Reads a dental practice's image files on its own machine, and converts them to images that browsers and payers read.

Uses the standard library and Pillow. Nothing in this package writes to a file whose image it is: patients' names and
numbers stay in memory and in the answer.
"""
