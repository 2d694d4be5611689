"""What can go wrong, with the code that whoever asked is answered."""


class ImageFault(Exception):
    """One image's; the others go on. Codes: not_found, not_a_tiff, damaged, unsupported, image_too_large,
    path_not_allowed, upload_failed. Its text names no file: a file's name may be a person's."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class CommandFault(Exception):
    """The whole command's."""

    def __init__(self, code, message, output=None):
        super().__init__(message)
        self.code = code
        self.output = output
