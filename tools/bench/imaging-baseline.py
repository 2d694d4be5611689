"""The baseline of the image conversion: opens each file, scales 16-bit values to 8 bits, and saves two JPEGs."""

import os
import sys

from PIL import Image

root, out = sys.argv[1:]
for name in os.listdir(root):
    if not name.endswith(".tif"):
        continue
    image = Image.open(os.path.join(root, name))
    if image.mode.startswith("I"):
        image = image.convert("I")
        low, high = image.getextrema()
        scale = 255 / (high - low)
        image = image.point(lambda value: value * scale + (0.5 - low * scale)).convert("L")
    image.save(os.path.join(out, name + "-full"), "JPEG", quality=90)
    image.thumbnail((256, 256))
    image.save(os.path.join(out, name + "-thumb"), "JPEG", quality=80)
