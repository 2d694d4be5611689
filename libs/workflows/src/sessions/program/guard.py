# --- A browser that opens only the addresses of the task, and stops before a submission that is not allowed. ---


class WouldSubmit(BaseException):
    """Derives from BaseException, so that `except Exception` in code that a person wrote does not catch it."""


class AttemptOver(BaseException):
    pass


class Over(Exception):
    """The session has ended."""


# Here, results are not merged as in runs: each is added to the answer unchanged.
muster.result = Reports.result.__get__(muster)


SUBMITS = """function () {
  const button = this.closest('button, input[type=submit], input[type=image]');
  const form = button ? button.form : null;
  if (!form || (button.tagName === 'BUTTON' && button.type !== 'submit')) return false;
  return (%s)(form, button.getAttribute('formmethod'));
}"""
SENDS = """(form, method) => (method || form.getAttribute('method') || 'get').trim().toLowerCase() === 'post' &&
  ![...form.elements].some((each) => each.type === 'password')"""
# Evaluated in the frame that has the focus: Enter in a form's field, and a space on its button, submit the form.
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


# Seconds without loading or changes after which a missing element is not expected to appear any more.
STILL_FOR = 4
# Default timeout in seconds with which the runtime of recordings waits for an element.
USUAL_WAIT = 30
SHOWN_NOW = """[document.readyState, document.getElementsByTagName('*').length,
  ((document.body || {}).innerText || '').length].join()"""


class SessionBrowser(Browser):
    def __init__(self):
        # Set before the first message arrives.
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
            if not self.receive_message(deadline):
                raise TimeoutError("the browser shows no page")

    def build_flags(self):
        off = "IsolateOrigins,site-per-process,IsolateSandboxedIframes,Prerender2,Translate,MediaRouter"
        kept = [flag for flag in super().build_flags() if flag != "about:blank" and "--disable-features" not in flag]
        bounds = ["--renderer-process-limit=3", "--disk-cache-size=52428800", "--js-flags=--max-old-space-size=768"]
        # Incognito keeps values of vault keys off the disk. It is not used with extensions, which do not work in it.
        forgetting = [] if EXTENSIONS else ["--incognito"]
        window = ["--window-size=1280,900", "--hide-scrollbars", "about:blank"]
        return [*kept, *forgetting, "--disable-features=" + off, *bounds, *window]

    def receive_message(self, deadline):
        """Ends an attempt whose time is over. Every wait is a wait for a message, so this check covers all waits."""
        if self.fatal:
            raise Over(self.fatal)
        end = self.until
        if end is None:
            return super().receive_message(deadline)
        if time.monotonic() > end:
            self.until = None
            raise AttemptOver("the attempt took too long")
        return super().receive_message(min(deadline, end + 0.01)) or time.monotonic() < deadline

    def handle_message(self, method, params, session):
        if method == "Target.attachedToTarget":
            self.prepare_tab(params)
        elif method == "Target.detachedFromTarget":
            self.pages.pop(params["sessionId"], None)
        else:
            super().handle_message(method, params, session)

    def prepare_tab(self, params):
        """Prepares a new tab, whose page does not run before that. Does not wait for answers, because this is called
        during another wait."""
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
        """Returns the tab in front, or the one that shows the address."""
        deadline = time.monotonic() + timeout
        while True:
            pages = list(self.pages.values())
            # Ignores windows that were opened and did not load an allowed page, if there are others.
            pages = [page for page in pages if page.visited] or pages
            if target != "main":
                pages = [page for page in pages if same_address(page.get_address(), fill(target))]
            if pages:
                return pages[-1]
            if time.monotonic() > deadline:
                raise TimeoutError("no tab shows %s" % target)
            if not self.pages:
                self.call("Target.createTarget", {"url": "about:blank"})
            self.rest(0.1)

    def is_first_tab(self, page):
        return next(iter(self.pages.values()), None) is page

    def record_blocked(self, url):
        if len(self.blocked) < 50:
            self.blocked.append(hide(url[:500]))

    def require_unblocked(self, since=0):
        if len(self.blocked) > since:
            raise OutOfBounds("the address %s is not one of the task's addresses" % self.blocked[-1])

    def about_to_submit(self):
        """Records a submission on disk before it happens. Stops the attempt if it may not submit."""
        if self.attempt is None:
            return
        if not self.attempt.may_submit:
            raise WouldSubmit()
        self.attempt.write_journal(submit="ahead")
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

    def handle_event(self, method, params):
        super().handle_event(method, params)
        if method == "Fetch.requestPaused":
            self.check_request(params)
        elif method == "Page.frameNavigated" and not params["frame"].get("parentId"):
            self.check_arrival(params["frame"].get("url", ""))
        elif method == "Runtime.executionContextDestroyed":
            gone = params["executionContextId"]
            self.worlds = {frame: number for frame, number in self.worlds.items() if number != gone}
        elif method == "Runtime.executionContextsCleared":
            self.worlds = {}
        elif method == "Inspector.targetCrashed":
            self.browser.fatal = "its page crashed"

    def check_request(self, params):
        """Decides whether a document may be requested, before the request is sent. Also called for each redirect."""
        request, identity = params["request"], params["requestId"]
        url, is_post = request["url"], request["method"] != "GET"
        is_main = params["frameId"] == self.target
        # Frames may show other sites, but their URLs must not contain secrets and they must not receive posts.
        passes = is_allowed(url) or (not is_main and not is_post and hide(url) == url)
        if passes and is_main and is_post and self.holds_posts:
            self.held = True
            self.browser.post("Fetch.failRequest", {"requestId": identity, "errorReason": "Aborted"}, self.session)
            return
        if passes:
            self.browser.post("Fetch.continueRequest", {"requestId": identity}, self.session)
            return
        self.browser.record_blocked(url)
        self.browser.post("Fetch.failRequest", {"requestId": identity, "errorReason": "Aborted"}, self.session)
        if is_main and self.is_popup and not self.visited:
            self.browser.post("Target.closeTarget", {"targetId": self.target})

    def check_arrival(self, url):
        """Leaves a page that was opened without a request, such as a file, if it is not allowed."""
        self.visited = self.visited or is_allowed(url)
        if is_allowed(url) or url.split(":")[0] in ("about", "chrome-error", ""):
            return
        if url.startswith("blob:") and is_allowed(url[5:]):
            return
        self.browser.record_blocked(url)
        self.browser.post("Page.navigate", {"url": "about:blank"}, self.session)

    def call(self, method, params=None, timeout=30):
        """Puts the objects of the page into a group, which is released after each command."""
        if method in ("Runtime.evaluate", "Runtime.callFunctionOn", "DOM.resolveNode"):
            params = {"objectGroup": "command", **(params or {})}
        return super().call(method, params, timeout)

    def release_objects(self):
        self.browser.post("Runtime.releaseObjectGroup", {"objectGroup": "command"}, self.session)

    def get_address(self):
        return self.call("Page.getFrameTree")["frameTree"]["frame"].get("url", "")

    # Functions of the recordings' runtime, with the restrictions of a session.

    def navigate(self, url, timeout=30):
        before = len(self.browser.blocked)
        whole = urllib.parse.urljoin(self.get_address(), fill(url))
        if is_allowed(whole):
            try:
                super().navigate(whole, timeout)
            except BrowserError:
                self.browser.require_unblocked(before)
                raise
        else:
            self.browser.record_blocked(whole)
        self.browser.require_unblocked(before)

    def find_element(self, selectors, frame, timeout, visible=True):
        # An explicit timeout is used unchanged; only the default one ends early when the page no longer changes.
        self.is_seeking = timeout == USUAL_WAIT
        try:
            return super().find_element(selectors, frame, timeout, visible)
        except TimeoutError as error:
            if timeout != USUAL_WAIT:
                raise
            message = "no element matches %s, and the page no longer changes"
            raise TimeoutError(message % format_selectors(selectors)) from error
        finally:
            self.is_seeking = False

    def wait_until(self, condition, timeout):
        if not self.is_seeking:
            return super().wait_until(condition, timeout)
        self.is_seeking = False
        return self.wait_until_still(condition, timeout)

    def wait_until_still(self, condition, timeout):
        """Like wait_until, but also returns False once the page no longer changes, so that the caller can try another
        way sooner."""
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

        super().wait_until(is_over, timeout)
        return bool(found)

    def click(self, selectors, *more, frame=(), timeout=30, **named):
        found = self.find_element(selectors, frame, timeout)
        self.about_to_click(found)
        super().click(selectors, *more, frame=frame, timeout=timeout, **named)

    def about_to_click(self, element):
        if self.call_function(element, SUBMITS):
            self.browser.about_to_submit()

    def send_key_event(self, kind, key):
        if kind == "keyDown" and key in ("Enter", " "):
            if any(self.evaluate(PRESS_SUBMITS % json.dumps(key), frame) for frame in frame_paths(self)):
                self.browser.about_to_submit()
        super().send_key_event(kind, key)

    def change(self, selectors, value, frame=(), timeout=30):
        with allow_secret_typing(self, value, frame):
            super().change(selectors, value, frame, timeout)

    def frame_origin(self, frame):
        tree = self.call("Page.getFrameTree")["frameTree"]
        for place in frame:
            tree = tree["childFrames"][place]
        return get_origin(tree["frame"].get("securityOrigin", ""))


@contextlib.contextmanager
def allow_secret_typing(page, value, frame):
    """Allows the value of a vault key to be typed, but only into pages and frames of the task's origins."""
    if not names_secret(value):
        yield
        return
    if page.frame_origin(frame) not in ALLOWED:
        raise OutOfBounds("the value of a vault key must not be typed into a page at this address")
    may_type[0] += 1
    try:
        yield
    finally:
        may_type[0] -= 1


def wrap_with_typing_check(plain):
    def type_within_bounds(page, selectors, value, frame=(), timeout=30):
        with allow_secret_typing(page, value, frame):
            return plain(page, selectors, value, frame, timeout)

    return type_within_bounds


fill_in, choose = wrap_with_typing_check(fill_in), wrap_with_typing_check(choose)


def submits(page):
    page.browser.about_to_submit()


def upload(page, selectors, path, frame=(), timeout=30):
    raise OutOfBounds("a session has no files to send")
