def find_browser():
    given = os.environ.get("CHROMIUM")
    names = [given] if given else ["chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "chrome"]
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise RuntimeError("no browser was found: install Chromium, or set CHROMIUM to the path of a browser")


def same_address(one, other):
    return one.rstrip("/") == other.rstrip("/")


def format_selectors(selectors):
    return " or ".join(" >> ".join(each) if isinstance(each, list) else each for each in list_selectors(selectors))


def list_selectors(selectors):
    """Returns the selectors as a list, because people may write a single one."""
    return [selectors] if isinstance(selectors, str) else selectors


def frame_paths(page):
    """Returns the paths of the page and of its frames, in the format of steps."""
    found = []

    def add_frame(tree, path):
        found.append(path)
        for place, child in enumerate(tree.get("childFrames", [])):
            if len(found) < 30:
                add_frame(child, (*path, place))

    add_frame(page.call("Page.getFrameTree")["frameTree"], ())
    return found


RESULTS = {}


def fill(text):
    """Replaces {{NAME}} by the result of an earlier step with this name, or else by the run's variable or secret.
    Replaces {{totp:NAME}} by a code of this TOTP of the vault."""

    def resolve_name(match):
        name = match.group(1)
        if re.fullmatch(r"totp:\s*[A-Za-z_][A-Za-z0-9_]*", name):
            return muster.totp(name[5:].strip())
        if name in RESULTS:
            return RESULTS[name] if isinstance(RESULTS[name], str) else json.dumps(RESULTS[name])
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            return match.group(0)
        if name not in os.environ:
            raise LookupError("the run has no variable %s, and no earlier step set it" % name)
        return os.environ[name]

    return re.sub(r"\{\{\s*([^{}]+?)\s*\}\}", resolve_name, text)
