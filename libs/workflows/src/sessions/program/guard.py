# --- A browser that stays on the task's addresses, and says before it sends something for good. ---


class WouldSubmit(BaseException):
    """Not an Exception: what a person wrote shall not swallow it."""


class AttemptOver(BaseException):
    pass


class Over(Exception):
    """The session is."""


# Each is the answer's, as it was found.
muster.result = Reports.result.__get__(muster)


SUBMITS = """function () {
  const button = this.closest('button, input[type=submit], input[type=image]');
  const form = button ? button.form : null;
  if (!form || (button.tagName === 'BUTTON' && button.type !== 'submit')) return false;
  return (%s)(form, button.getAttribute('formmethod'));
}"""
SENDS = """(form, method) => (method || form.getAttribute('method') || 'get').trim().toLowerCase() === 'post' &&
  ![...form.elements].some((each) => each.type === 'password')"""
# In the frame that has the keyboard: Enter in a form's field, and a space on its button.
PRESS_SUBMITS = """(() => {
  let at = document.hasFocus() ? document.activeElement : null;
  while (at && at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
  if (!at || !at.form || at.matches('textarea, select') ||
      (at.localName === 'button' && at.type !== 'submit')) return false;
  const presses = at.matches('button, input[type=submit], input[type=image]');
  if (%%s === ' ' && !presses) return false;
  const button = presses ? at : [...at.form.elements].find((each) => ['submit', 'image'].includes(each.type));
  return (%s)(at.form, button ? button.getAttribute('formmethod') : null);
})()"""
SUBMITS, PRESS_SUBMITS = SUBMITS % SENDS, PRESS_SUBMITS % SENDS


# An element that has not come by then, on a page that neither loads nor changes, does not come.
STILL_FOR = 4
# How long the runtime of recordings waits for an element where nobody says.
USUAL_WAIT = 30
SHOWN_NOW = """[document.readyState, document.getElementsByTagName('*').length,
  ((document.body || {}).innerText || '').length].join()"""


class SessionBrowser(Browser):
    def __init__(self):
        # Before anything is heard.
        self.blocked = []
        self.until = None
        self.fatal = None
        self.attempt = None
        super().__init__()
        watched = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": [{"type": "page"}]}
        self.call("Target.setAutoAttach", watched)
        self.call("Browser.setDownloadBehavior", {"behavior": "deny"})
        deadline = time.monotonic() + 30
        while not self.pages:
            if not self.listen(deadline):
                raise TimeoutError("the browser shows no page")

    def flags(self):
        off = "IsolateOrigins,site-per-process,IsolateSandboxedIframes,Prerender2,Translate,MediaRouter"
        kept = [flag for flag in super().flags() if flag != "about:blank" and "--disable-features" not in flag]
        bounds = ["--renderer-process-limit=3", "--disk-cache-size=52428800", "--js-flags=--max-old-space-size=768"]
        # What pages say of vault keys' values is not for the disk. Extensions would not be had there.
        forgetting = [] if EXTENSIONS else ["--incognito"]
        window = ["--window-size=1280,900", "--hide-scrollbars", "about:blank"]
        return [*kept, *forgetting, "--disable-features=" + off, *bounds, *window]

    def listen(self, deadline):
        """Every wait is one for a message: here an attempt ends whose time is over."""
        if self.fatal:
            raise Over(self.fatal)
        end = self.until
        if end is None:
            return super().listen(deadline)
        if time.monotonic() > end:
            self.until = None
            raise AttemptOver("the attempt took too long")
        return super().listen(min(deadline, end + 0.01)) or time.monotonic() < deadline

    def heard(self, method, params, session):
        if method == "Target.attachedToTarget":
            self.attached(params)
        elif method == "Target.detachedFromTarget":
            self.pages.pop(params["sessionId"], None)
        else:
            super().heard(method, params, session)

    def attached(self, params):
        """Before its page runs: it waits for that. Nothing is waited for here, in the midst of another wait."""
        session, info = params["sessionId"], params["targetInfo"]
        page = self.pages[session] = SessionPage(self, info["targetId"], session)
        for domain in ("Page", "Runtime", "DOM", "Network", "Inspector"):
            self.post(domain + ".enable", {}, session)
        documents = [{"urlPattern": "*", "resourceType": "Document", "requestStage": "Request"}]
        self.post("Fetch.enable", {"patterns": documents}, session)
        self.post("Emulation.setFocusEmulationEnabled", {"enabled": True}, session)
        metrics = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        self.post("Emulation.setDeviceMetricsOverride", metrics, session)
        self.post("Runtime.runIfWaitingForDebugger", {}, session)
        page.is_popup = len(self.pages) > 1

    def page(self, target="main", timeout=30):
        """The tab that is in front; or the one that shows the address."""
        deadline = time.monotonic() + timeout
        while True:
            pages = list(self.pages.values())
            # A window that was opened and led nowhere is in nobody's way.
            pages = [page for page in pages if page.visited] or pages
            if target != "main":
                pages = [page for page in pages if same_address(page.address(), fill(target))]
            if pages:
                return pages[-1]
            if time.monotonic() > deadline:
                raise TimeoutError("no tab shows %s" % target)
            if not self.pages:
                self.call("Target.createTarget", {"url": "about:blank"})
            self.rest(0.1)

    def is_first(self, page):
        return next(iter(self.pages.values()), None) is page

    def block(self, url):
        if len(self.blocked) < 50:
            self.blocked.append(hide(url[:500]))

    def require_unblocked(self, since=0):
        if len(self.blocked) > since:
            raise OutOfBounds("the address %s is none of the task's" % self.blocked[-1])

    def about_to_submit(self):
        """Said, and on disk, before it happens."""
        if self.attempt is None:
            return
        if not self.attempt.may_submit:
            raise WouldSubmit()
        self.attempt.note(submit="ahead")
        self.attempt.submitted = True


class SessionPage(Page):
    def __init__(self, browser, target, session):
        super().__init__(browser, target, session)
        self.is_popup = False
        self.visited = False
        self.worlds = {}
        self.holds_posts = False
        self.held = False
        self.is_seeking = False

    def happened(self, method, params):
        super().happened(method, params)
        if method == "Fetch.requestPaused":
            self.paused(params)
        elif method == "Page.frameNavigated" and not params["frame"].get("parentId"):
            self.arrived(params["frame"].get("url", ""))
        elif method == "Runtime.executionContextDestroyed":
            gone = params["executionContextId"]
            self.worlds = {frame: number for frame, number in self.worlds.items() if number != gone}
        elif method == "Runtime.executionContextsCleared":
            self.worlds = {}
        elif method == "Inspector.targetCrashed":
            self.browser.fatal = "its page crashed"

    def paused(self, params):
        """Each document that is asked for, each hop of a redirect too, before anything of it leaves."""
        request, identity = params["request"], params["requestId"]
        url, is_post = request["url"], request["method"] != "GET"
        is_main = params["frameId"] == self.target
        # A site's own frames may be of others; what is typed here is not for them.
        passes = is_allowed(url) or (not is_main and not is_post and hide(url) == url)
        if passes and is_main and is_post and self.holds_posts:
            self.held = True
            self.browser.post("Fetch.failRequest", {"requestId": identity, "errorReason": "Aborted"}, self.session)
            return
        if passes:
            self.browser.post("Fetch.continueRequest", {"requestId": identity}, self.session)
            return
        self.browser.block(url)
        self.browser.post("Fetch.failRequest", {"requestId": identity, "errorReason": "Aborted"}, self.session)
        if is_main and self.is_popup and not self.visited:
            self.browser.post("Target.closeTarget", {"targetId": self.target})

    def arrived(self, url):
        """What no request leads to, such as a file, is left again."""
        self.visited = self.visited or is_allowed(url)
        if is_allowed(url) or url.split(":")[0] in ("about", "chrome-error", ""):
            return
        if url.startswith("blob:") and is_allowed(url[5:]):
            return
        self.browser.block(url)
        self.browser.post("Page.navigate", {"url": "about:blank"}, self.session)

    def call(self, method, params=None, timeout=30):
        """What it hands out of the page is let go after each command."""
        if method in ("Runtime.evaluate", "Runtime.callFunctionOn", "DOM.resolveNode"):
            params = {"objectGroup": "command", **(params or {})}
        return super().call(method, params, timeout)

    def let_go(self):
        self.browser.post("Runtime.releaseObjectGroup", {"objectGroup": "command"}, self.session)

    def address(self):
        return self.call("Page.getFrameTree")["frameTree"]["frame"].get("url", "")

    # What the recordings' runtime does, within bounds.

    def navigate(self, url, timeout=30):
        before = len(self.browser.blocked)
        whole = urllib.parse.urljoin(self.address(), fill(url))
        if is_allowed(whole):
            try:
                super().navigate(whole, timeout)
            except BrowserError:
                self.browser.require_unblocked(before)
                raise
        else:
            self.browser.block(whole)
        self.browser.require_unblocked(before)

    def find(self, selectors, frame, timeout, visible=True):
        # What somebody says is how long is waited.
        self.is_seeking = timeout == USUAL_WAIT
        try:
            return super().find(selectors, frame, timeout, visible)
        except TimeoutError as error:
            if timeout != USUAL_WAIT:
                raise
            raise TimeoutError("nothing fits %s, and the page has come to rest" % told(selectors)) from error
        finally:
            self.is_seeking = False

    def until(self, condition, timeout):
        if not self.is_seeking:
            return super().until(condition, timeout)
        self.is_seeking = False
        return self.until_still(condition, timeout)

    def until_still(self, condition, timeout):
        """As until; false as well once the page has come to rest without it: there is another way, sooner."""
        found, shown, since = [], None, time.monotonic()

        def is_over():
            nonlocal shown, since
            try:
                found[:] = [True] if condition() else []
            except BrowserError:
                found[:] = []
            now = self.evaluate(SHOWN_NOW)
            if now != shown or self.loading or self.requests:
                shown, since = now, time.monotonic()
            return bool(found) or time.monotonic() - since > STILL_FOR

        super().until(is_over, timeout)
        return bool(found)

    def click(self, selectors, *more, frame=(), timeout=30, **named):
        found = self.find(selectors, frame, timeout)
        self.about_to_click(found)
        super().click(selectors, *more, frame=frame, timeout=timeout, **named)

    def about_to_click(self, element):
        if self.on(element, SUBMITS):
            self.browser.about_to_submit()

    def key(self, kind, key):
        if kind == "keyDown" and key in ("Enter", " "):
            if any(self.evaluate(PRESS_SUBMITS % json.dumps(key), frame) for frame in frame_paths(self)):
                self.browser.about_to_submit()
        super().key(kind, key)

    def change(self, selectors, value, frame=(), timeout=30):
        with typing(self, value, frame):
            super().change(selectors, value, frame, timeout)

    def frame_origin(self, frame):
        tree = self.call("Page.getFrameTree")["frameTree"]
        for place in frame:
            tree = tree["childFrames"][place]
        return origin_of(tree["frame"].get("securityOrigin", ""))


@contextlib.contextmanager
def typing(page, value, frame):
    """A vault key's value goes into pages of the task and no other, nor into a frame of others within one."""
    if not names_secret(value):
        yield
        return
    if page.frame_origin(frame) not in ALLOWED:
        raise OutOfBounds("a vault key's value is not for the address that the page shows")
    may_type[0] += 1
    try:
        yield
    finally:
        may_type[0] -= 1


def typed_within_bounds(plain):
    def bounded(page, selectors, value, frame=(), timeout=30):
        with typing(page, value, frame):
            return plain(page, selectors, value, frame, timeout)

    return bounded


fill_in, choose = typed_within_bounds(fill_in), typed_within_bounds(choose)


def submits(page):
    page.browser.about_to_submit()


def upload(page, selectors, path, frame=(), timeout=30):
    raise OutOfBounds("a session has no files to send")
