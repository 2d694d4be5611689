"""Checks whether Pillow is installed with the required features. At its start, the worker runs this file alone."""


def has_pillow():
    try:
        from PIL import Image, TiffImagePlugin, features  # noqa: F401
    except ImportError:
        return False
    return all(features.check(name) for name in ("libtiff", "jpg", "zlib"))


if __name__ == "__main__":
    raise SystemExit(0 if has_pillow() else 1)
