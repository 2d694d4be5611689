"""Errors of images and commands, with the codes that the caller receives."""


class ImageFault(Exception):
    """Error of one image; the command continues with the others. Codes: not_found, not_a_tiff, damaged, unsupported,
    image_too_large, path_not_allowed, upload_failed. The text contains no file name, which may be a person's name."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class CommandFault(Exception):
    """Error of the whole command."""

    def __init__(self, code, message, output=None):
        super().__init__(message)
        self.code = code
        self.output = output
