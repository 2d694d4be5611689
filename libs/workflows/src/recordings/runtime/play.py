def custom(name, parameters):
    """A step that an extension of the recorder made: only who made it knows what it does."""
    raise NotImplementedError("say in custom() what the step %s does; its parameters are %r" % (name, parameters))


@contextlib.contextmanager
def step(browser, step_id, name, target="main", timeout=30):
    """A step as a step of the run, with a picture of the page where it fails. Without a target it needs no page."""
    page = None
    with muster.step(name, step_id=step_id):
        try:
            page = browser.page(target, timeout) if target else None
            yield page
        except Exception:
            page = page or browser.shown()
            if page:
                try:
                    path = "failed-%s.png" % re.sub(r"[^A-Za-z0-9_-]", "_", step_id)
                    page.screenshot(path)
                    muster.screenshot(path)
                except Exception as error:
                    muster.log("warn", "no screenshot of the failure: %s" % error)
            raise


class LazyBrowser:
    """A browser that is started by the first step that needs one."""

    def __init__(self):
        self.browser = None

    def page(self, target="main", timeout=30):
        if self.browser is None:
            self.browser = Browser()
        return self.browser.page(target, timeout)

    def shown(self):
        """The page that is open, for a picture of it."""
        return next(iter(self.browser.pages.values()), None) if self.browser else None

    def rest(self, seconds):
        """What the pages say meanwhile is heard."""
        if self.browser:
            self.browser.rest(seconds)
        else:
            time.sleep(seconds)

    def settle(self, timeout):
        if self.browser:
            self.browser.settle(timeout)

    def close(self):
        if self.browser:
            self.browser.close()


def play(run):
    browser = LazyBrowser()
    try:
        run(browser)
        # What the last step sent off is not to end with the browser.
        browser.settle(5)
    finally:
        browser.close()


play(run)
