"""Draws one image of all requested teeth, in their order: for each tooth its image, or a cell with “no image”."""

from PIL import Image, ImageDraw, ImageOps

from .labels import draw_label

CELL = (320, 240)
CELLS_A_ROW = 6

BACKGROUND = (0, 0, 0)
PLACEHOLDER = (128, 128, 128)
# Edge between neighbouring cells.
EDGE = (96, 96, 96)


def draw_sheet(teeth, cells):
    """`cells` has (path of an image, day) for each tooth with an image."""
    width, height = CELL
    columns, rows = min(len(teeth), CELLS_A_ROW), -(-len(teeth) // CELLS_A_ROW)
    sheet = Image.new("RGB", (columns * width, rows * height), BACKGROUND)
    for place, tooth in enumerate(teeth):
        row, column = divmod(place, CELLS_A_ROW)
        sheet.paste(draw_cell(tooth, cells.get(tooth)), (column * width, row * height))
    return sheet


def draw_cell(tooth, found):
    if found is None:
        cell = Image.new("RGB", CELL, PLACEHOLDER)
        ImageDraw.Draw(cell).rectangle((0, 0, CELL[0] - 1, CELL[1] - 1), outline=EDGE)
        draw_label(cell, f"#{tooth}  no image")
        return cell
    path, day = found
    cell = Image.new("RGB", CELL, BACKGROUND)
    with Image.open(path) as picture:
        fitted = ImageOps.contain(picture.convert("RGB"), CELL)
    cell.paste(fitted, ((cell.width - fitted.width) // 2, (cell.height - fitted.height) // 2))
    draw_label(cell, f"#{tooth}  {day.isoformat()}")
    return cell
