"""Draws labels that are readable with any fonts of the machine."""

from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

_size = 20
_margin = 6
_debian = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
_paper = (0, 0, 0)
_ink = (255, 255, 255)


def draw_label(cell, text):
    """Draws white text on a black strip in the lower left corner, which is readable on dark and on light images."""
    words = _draw_mask(text)
    width, height = words.width + 2 * _margin, words.height + 2 * _margin
    left, top = 0, cell.height - height
    cell.paste(_paper, (left, top, min(width, cell.width), cell.height))
    cell.paste(_ink, (left + _margin, top + _margin), words)


def _draw_mask(text):
    """Returns the text as a mask, with the same height for every text."""
    font, scale = _load_font()
    draw = ImageDraw.Draw(Image.new("L", (1, 1)))
    _, top, _, bottom = draw.textbbox((0, 0), "#0123456789-g", font=font)
    left, _, right, _ = draw.textbbox((0, 0), text, font=font)
    mask = Image.new("L", (right - left, bottom - top))
    ImageDraw.Draw(mask).text((-left, -top), text, font=font, fill=255)
    return mask.resize((mask.width * scale, mask.height * scale), Image.NEAREST) if scale > 1 else mask


@lru_cache(maxsize=1)
def _load_font():
    """Returns a font and its enlargement: Pillow's own, Debian's, or else the small bitmap font of every Pillow."""
    for find in (lambda: ImageFont.load_default(_size), lambda: ImageFont.truetype(_debian, _size)):
        try:
            return find(), 1
        except (TypeError, OSError, ImportError):
            pass
    return ImageFont.load_default(), 2
