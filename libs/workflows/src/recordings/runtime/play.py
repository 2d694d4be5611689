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
    return " or ".join(" >> ".join(each) if isinstance(each, list) else each for each in selectors)


def fill(text):
    """{{NAME}} is the text of the run's variable, or secret, of that name."""

    def value(match):
        name = match.group(1)
        if name not in os.environ:
            raise KeyError("the run has no variable %s" % name)
        return os.environ[name]

    return re.sub(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}", value, text)


def custom(name, parameters):
    """A step that an extension of the recorder made: only who made it knows what it does."""
    raise NotImplementedError("say in custom() what the step %s does; its parameters are %r" % (name, parameters))


@contextlib.contextmanager
def step(browser, step_id, name, target="main", timeout=30):
    """A step of the recording as a step of the run, with a picture of the page where it fails."""
    page = None
    with muster.step(name, step_id=step_id):
        try:
            page = browser.page(target, timeout)
            yield page
        except Exception:
            if page:
                try:
                    path = "failed-%s.png" % re.sub(r"[^A-Za-z0-9_-]", "_", step_id)
                    page.screenshot(path)
                    muster.screenshot(path)
                except Exception as error:
                    muster.log("warn", "no screenshot of the failure: %s" % error)
            raise


def play(run):
    browser = Browser()
    try:
        run(browser)
    finally:
        browser.close()


play(run)
