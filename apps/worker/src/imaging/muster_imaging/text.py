def decode(data):
    """UTF-8 where it is that, else Windows-1252; None where it can be neither."""
    for encoding in ("utf-8", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            pass
    return None
