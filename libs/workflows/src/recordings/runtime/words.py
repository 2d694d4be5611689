def find_browser():
    given = os.environ.get("CHROMIUM")
    names = [given] if given else ["chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "chrome"]
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise RuntimeError("no browser here: install Chromium, or say in CHROMIUM where it is")


def same_address(one, other):
    return one.rstrip("/") == other.rstrip("/")


def told(selectors):
    return " or ".join(" >> ".join(each) if isinstance(each, list) else each for each in alternatives(selectors))


def alternatives(selectors):
    """Several are tried in their order; people may also write just one."""
    return [selectors] if isinstance(selectors, str) else selectors


def frame_paths(page):
    """Where the page and its frames are, as steps say it."""
    found = []

    def walk(tree, path):
        found.append(path)
        for place, child in enumerate(tree.get("childFrames", [])):
            if len(found) < 30:
                walk(child, (*path, place))

    walk(page.call("Page.getFrameTree")["frameTree"], ())
    return found


RESULTS = {}


def fill(text):
    """{{NAME}} is what an earlier step gave that name, or else the run's variable, or secret, of that name;
    {{totp:NAME}} a code of that TOTP of the vault."""

    def value(match):
        name = match.group(1)
        if re.fullmatch(r"totp:\s*[A-Za-z_][A-Za-z0-9_]*", name):
            return muster.totp(name[5:].strip())
        if name in RESULTS:
            return RESULTS[name] if isinstance(RESULTS[name], str) else json.dumps(RESULTS[name])
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            return match.group(0)
        if name not in os.environ:
            raise LookupError("the run has no variable %s, and no earlier step gave it" % name)
        return os.environ[name]

    return re.sub(r"\{\{\s*([^{}]+?)\s*\}\}", value, text)
