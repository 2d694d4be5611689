def custom(name, parameters):
    """A step of an extension of the recorder. Only the author of the extension knows what the step does."""
    raise NotImplementedError("write in custom() what the step %s does; its parameters are %r" % (name, parameters))


@contextlib.contextmanager
def step(browser, step_id, name, target="main", timeout=30):
    """Reports a step of the run, with a screenshot of the page if it fails. A step without a target has no page."""
    page = None
    with muster.step(name, step_id=step_id):
        try:
            page = browser.page(target, timeout) if target else None
            yield page
        except Exception:
            page = page or browser.get_shown_page()
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

    def get_shown_page(self):
        """Returns the open page for a screenshot; None if there is none."""
        return next(iter(self.browser.pages.values()), None) if self.browser else None

    def rest(self, seconds):
        """Waits, and handles the messages of the pages during the wait."""
        if self.browser:
            self.browser.rest(seconds)
        else:
            time.sleep(seconds)

    def wait_until_idle(self, timeout):
        if self.browser:
            self.browser.wait_until_idle(timeout)

    def close(self):
        if self.browser:
            self.browser.close()


def play(run):
    browser = LazyBrowser()
    try:
        run(browser)
        # Closing the browser would abort requests that the last step has started.
        browser.wait_until_idle(5)
    finally:
        browser.close()


play(run)
