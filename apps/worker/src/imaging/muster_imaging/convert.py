"""Decodes a file to an upright image, grey or RGB, and writes it to JPEG and PNG files without metadata."""

import errno
import io
import os

from PIL import Image, TiffImagePlugin

from .faults import ImageFault

# Pillow's own limit is not needed, because read_tiff() limits the size.
Image.MAX_IMAGE_PIXELS = None

# Pillow's transposition for each orientation of a TIFF: FLIP_LEFT_RIGHT 0, FLIP_TOP_BOTTOM 1, ROTATE_90 2,
# ROTATE_180 3, ROTATE_270 4, TRANSPOSE 5, TRANSVERSE 6.
UPRIGHT = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}
LANCZOS = 1
PIXELS_AT_ONCE = 8_000_000
MAX_OUTPUT_BYTES = 100 * 1024 * 1024


def decode_picture(picture):
    """Returns an image of mode L or RGB, or raises an ImageFault with the reason. Releases the picture's bytes."""
    try:
        image = TiffImagePlugin.TiffImageFile(io.BytesIO(picture.clean))
        if image.size != (picture.width, picture.height):
            raise ImageFault("damaged", "the decoder sees another size")
        image.load()
        image.fp, picture.clean = None, b""
        image = orient_image(image, picture)
    except (ImageFault, MemoryError):
        raise
    except Exception as error:
        # Decoders raise many kinds of errors, and their texts may quote the file.
        raise ImageFault("damaged", f"the pixels cannot be decoded ({type(error).__name__})") from None
    if picture.orientation in UPRIGHT:
        image = image.transpose(UPRIGHT[picture.orientation])
    # Drops all metadata.
    image.info = {}
    return image


def orient_image(image, picture):
    if picture.bits == 16:
        image = scale_to_8_bits(image)
    if not picture.is_grey:
        return image if image.mode == "RGB" else image.convert("RGB")
    if image.mode != "L":
        image = image.convert("L")
    return image.point([255 - value for value in range(256)]) if picture.is_inverted else image


def scale_to_8_bits(image):
    """Scales from the darkest to the brightest value, rounded. Each value needs four bytes, so a large image is scaled
    in bands."""
    width, height = image.size
    if width * height <= PIXELS_AT_ONCE:
        whole = image.convert("I")
        return whole.point(build_scaling_table(*whole.getextrema()), "L")
    rows = max(1, PIXELS_AT_ONCE // width)
    bands = [(0, top, width, min(top + rows, height)) for top in range(0, height, rows)]
    extremes = [image.crop(band).convert("I").getextrema() for band in bands]
    table = build_scaling_table(min(low for low, _ in extremes), max(high for _, high in extremes))
    scaled = Image.new("L", image.size)
    for band in bands:
        scaled.paste(image.crop(band).convert("I").point(table, "L"), band)
    return scaled


def build_scaling_table(low, high):
    """Returns the new value for each of the 65,536 values; values that the image does not contain get any new value."""
    span = max(high - low, 1)
    return [0] * low + [(510 * value + span) // (2 * span) for value in range(high - low + 1)] + [255] * (65535 - high)


def write_variant(image, path, variant):
    """Writes one file of an image, reduced to fit into `box` [width, height] but never enlarged. Returns its size."""
    box = variant.get("box")
    if box:
        scale = min(box[0] / image.width, box[1] / image.height, 1)
        size = tuple(max(1, round(side * scale)) for side in image.size)
        if size != image.size:
            image = image.resize(size, LANCZOS, reducing_gap=2.0)
    # Written under another name and renamed, so that a file with the final name is complete.
    draft = path + ".draft"
    try:
        if variant["format"] == "JPEG":
            # A full-size image keeps the full resolution of its colours.
            more = {"subsampling": 0} if image.mode == "RGB" and not box else {}
            image.save(draft, "JPEG", quality=variant["quality"], **more)
        else:
            image.save(draft, "PNG", compress_level=3)
        size = os.path.getsize(draft)
    except OSError as error:
        # This is not a fault of the image: the worker's disk is full or missing.
        raise ImageFault("upload_failed", f"the picture cannot be written ({errno.errorcode.get(error.errno, 'unknown')})")
    if size > MAX_OUTPUT_BYTES:
        os.unlink(draft)
        raise ImageFault("image_too_large", "the picture would have more than 100 MiB")
    os.rename(draft, path)
    return size
