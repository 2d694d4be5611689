def decode_text(data):
    """Decodes UTF-8 or else Windows-1252; returns None if the data is neither."""
    for encoding in ("utf-8", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            pass
    return None
