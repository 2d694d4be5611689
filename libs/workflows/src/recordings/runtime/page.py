class Page:
    """A tab. Its steps take what the recorder wrote; selectors are tried in its order until one fits."""

    def __init__(self, browser, target, session):
        self.browser = browser
        self.target = target
        self.session = session
        self.contexts = {}
        self.navigations = 0
        self.modifiers = 0
        self.loading = False
        self.requests = set()

    def call(self, method, params=None, timeout=30):
        return self.browser.call(method, params, self.session, timeout)

    def happened(self, method, params):
        if method == "Runtime.executionContextCreated":
            context = params["context"]
            data = context.get("auxData") or {}
            if data.get("isDefault"):
                self.contexts[data.get("frameId")] = context["id"]
        elif method == "Runtime.executionContextDestroyed":
            gone = params["executionContextId"]
            self.contexts = {frame: number for frame, number in self.contexts.items() if number != gone}
        elif method == "Runtime.executionContextsCleared":
            self.contexts = {}
        elif method == "Page.frameNavigated" and not params["frame"].get("parentId"):
            self.navigations += 1
        elif method == "Page.navigatedWithinDocument":
            self.navigations += 1
        elif method in ("Page.frameStartedLoading", "Page.frameStoppedLoading") and params["frameId"] == self.target:
            self.loading = method == "Page.frameStartedLoading"
        elif method == "Network.requestWillBeSent" and params.get("type") not in ("EventSource", "WebSocket"):
            self.requests.add(params["requestId"])
        elif method in ("Network.loadingFinished", "Network.loadingFailed"):
            self.requests.discard(params["requestId"])
        elif method == "Page.javascriptDialogOpening":
            # Nobody is there to answer it, and the page waits until somebody does.
            self.browser.post("Page.handleJavaScriptDialog", {"accept": True}, self.session)
            muster.log("info", "the page said: %s" % params.get("message"))

    # The recorder's steps.

    def set_viewport(self, width, height, scale=1, mobile=False, touch=False, landscape=False):
        angle = {"type": "landscapePrimary", "angle": 90} if landscape else {"type": "portraitPrimary", "angle": 0}
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile}
        self.call("Emulation.setDeviceMetricsOverride", {**metrics, "screenOrientation": angle})
        self.call("Emulation.setTouchEmulationEnabled", {"enabled": touch})

    def emulate_network(self, download, upload, latency):
        limits = {"downloadThroughput": download, "uploadThroughput": upload, "latency": latency}
        self.call("Network.emulateNetworkConditions", {"offline": False, **limits})

    def navigate(self, url, timeout=30):
        deadline = time.monotonic() + timeout
        answer = self.call("Page.navigate", {"url": fill(url)}, timeout)
        if answer.get("errorText"):
            raise BrowserError("%s could not be opened: %s" % (fill(url), answer["errorText"]))
        self.loaded(deadline)

    def click(self, selectors, x=None, y=None, button="left", count=1, hold=0, touch=False, frame=(), timeout=30):
        found = self.find(selectors, frame, timeout)
        asked = (x, y)
        x, y = self.place(found, *asked, timeout)
        if touch:
            self.call("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
            self.browser.rest(hold)
            self.call("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
            return
        self.mouse("mouseMoved", x, y)
        # Pages move under a pointer that comes or goes: menus open and close.
        moved = self.place(found, *asked, timeout)
        if moved != (x, y):
            x, y = moved
            self.mouse("mouseMoved", x, y)
        for number in range(1, count + 1):
            self.mouse("mousePressed", x, y, button, number)
            self.browser.rest(hold)
            self.mouse("mouseReleased", x, y, button, number)

    def hover(self, selectors, frame=(), timeout=30):
        self.mouse("mouseMoved", *self.place(self.find(selectors, frame, timeout), None, None, timeout))

    def change(self, selectors, value, frame=(), timeout=30):
        value = fill(value)
        element = self.find(selectors, frame, timeout)
        kind = self.on(element, KIND_OF)
        if kind == "file":
            self.call("DOM.setFileInputFiles", {"objectId": element, "files": [os.path.abspath(value)]})
        elif kind == "typed":
            self.on(element, SELECT_ALL)
            # What is selected is replaced by what is typed; an empty text only takes it away.
            if value:
                self.call("Input.insertText", {"text": value})
            else:
                self.on(element, "function () { this.ownerDocument.execCommand('delete'); }")
            # The browser says that it has changed when it is left, and says it once.
            self.on(element, "function () { this.blur(); this.focus(); }")
        elif not self.on(element, SET_VALUE, value):
            raise ValueError("there is no choice %r" % value)

    def key_down(self, key):
        self.key("keyDown", fill(key))

    def key_up(self, key):
        self.key("keyUp", fill(key))

    def scroll(self, x=0, y=0, selectors=None, frame=(), timeout=30):
        if selectors:
            element = self.find(selectors, frame, timeout, visible=False)
            self.on(element, "function (x, y) { this.scrollTo({ left: x, top: y, behavior: 'instant' }); }", x, y)
        else:
            where = json.dumps({"left": x, "top": y, "behavior": "instant"})
            self.evaluate("window.scrollTo(%s)" % where, frame)

    def wait_for_element(
        self, selectors, operator=">=", count=1, visible=True, attributes=None, properties=None, frame=(), timeout=30
    ):
        fits = {">=": lambda n: n >= count, "==": lambda n: n == count, "<=": lambda n: n <= count}[operator]
        seen = [0]

        def enough():
            found = self.matching(selectors, frame)
            wanted = (bool(visible), attributes or {}, properties or {})
            seen[0] = sum(1 for element in found if self.on(element, HAS, *wanted))
            return fits(seen[0])

        if not self.until(enough, timeout):
            message = "%s: %d of them, and not %s %d within %g s"
            raise TimeoutError(message % (told(selectors), seen[0], operator, count, timeout))

    def wait_for_expression(self, expression, frame=(), timeout=30):
        if not self.until(lambda: self.evaluate(fill(expression), frame), timeout):
            raise TimeoutError("%s was not true within %g s" % (expression, timeout))

    def close(self):
        self.browser.call("Target.closeTarget", {"targetId": self.target})
        self.browser.pages.pop(self.session, None)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", {"format": "png"}, 10)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    # What they are made of.

    @contextlib.contextmanager
    def navigation(self, timeout=30):
        """The recorder saw that the step led to another address: it is over when that is there."""
        before = self.navigations
        deadline = time.monotonic() + timeout
        yield
        if not self.until(lambda: self.navigations > before, timeout):
            raise TimeoutError("the step led nowhere within %g s" % timeout)
        self.loaded(deadline)

    @contextlib.contextmanager
    def settled(self, timeout=30):
        """Where the step leads to another address, it is over when that is there; nobody said that it would."""
        yield
        self.browser.rest(0.2)
        deadline = time.monotonic() + timeout
        while self.loading and time.monotonic() < deadline:
            self.browser.listen(min(deadline, time.monotonic() + 0.5))

    def loaded(self, deadline):
        left = max(0.1, deadline - time.monotonic())
        if not self.until(lambda: self.evaluate("document.readyState") == "complete", left):
            raise TimeoutError("the page was not loaded in time")

    def until(self, condition, timeout):
        """Asks again and again: what it asks may be gone while the page changes."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                if condition():
                    return True
            except BrowserError:
                pass
            if time.monotonic() > deadline:
                return False
            self.browser.rest(0.1)

    def find(self, selectors, frame, timeout, visible=True):
        found = []

        def look():
            for element in self.matching(selectors, frame):
                if not visible or self.on(element, "function () { return (%s)(this); }" % IS_VISIBLE):
                    found[:] = [element]
                    return True
            return False

        if not self.until(look, timeout):
            raise TimeoutError("nothing fits %s within %g s" % (told(selectors), timeout))
        return found[0]

    def matching(self, selectors, frame):
        """The elements of the first selector that has any."""
        for selector in alternatives(selectors):
            chain = [fill(part) for part in ([selector] if isinstance(selector, str) else selector)]
            found = [self.evaluate("document", frame, by_value=False)]
            for place, part in enumerate(chain):
                if place:
                    roots = [self.handle(each, "function () { return this.shadowRoot || this; }") for each in found]
                else:
                    roots = found
                found = [each for root in roots for each in self.query(root, part)]
            if found:
                return found
        return []

    def query(self, root, selector):
        if selector.startswith("aria/"):
            return self.query_named(root, selector[5:])
        listed = self.handle(root, QUERY, selector)
        parts = self.call("Runtime.getProperties", {"objectId": listed, "ownProperties": True})["result"]
        return [part["value"]["objectId"] for part in parts if part["name"].isdigit()]

    def query_named(self, root, selector):
        """What assistive technology calls it: a name, and perhaps [role="..."]."""
        asked = {"objectId": root}
        for name, value in re.findall(r"""\[\s*(name|role)\s*=\s*["']([^"']*)["']\s*\]""", selector):
            asked["accessibleName" if name == "name" else "role"] = value
        name = re.sub(r"""\[\s*(?:name|role)\s*=\s*["'][^"']*["']\s*\]""", "", selector).strip()
        if name:
            asked["accessibleName"] = " ".join(name.split())
        found = []
        for node in self.call("Accessibility.queryAXTree", asked)["nodes"]:
            role = (node.get("role") or {}).get("value")
            if node.get("backendDOMNodeId") and role not in ("StaticText", "InlineTextBox"):
                resolved = self.call("DOM.resolveNode", {"backendNodeId": node["backendDOMNodeId"]})
                found.append(resolved["object"]["objectId"])
        return found

    def context(self, frame):
        tree = self.call("Page.getFrameTree")["frameTree"]
        for place in frame:
            children = tree.get("childFrames", [])
            if place >= len(children):
                raise BrowserError("there is no frame %s" % (list(frame),))
            tree = children[place]
        number = self.contexts.get(tree["frame"]["id"])
        if number is None:
            raise BrowserError("the frame is not ready")
        return number

    def evaluate(self, expression, frame=(), by_value=True):
        asked = {"expression": expression, "returnByValue": by_value, "awaitPromise": True}
        if frame:
            asked["contextId"] = self.context(frame)
        return self.outcome(self.call("Runtime.evaluate", asked), by_value)

    def on(self, element, function, *values, by_value=True):
        asked = {"objectId": element, "functionDeclaration": function, "returnByValue": by_value}
        asked["arguments"] = [{"value": value} for value in values]
        return self.outcome(self.call("Runtime.callFunctionOn", asked), by_value)

    def handle(self, element, function, *values):
        return self.on(element, function, *values, by_value=False)

    @staticmethod
    def outcome(answer, by_value):
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            said = (details.get("exception") or {}).get("description") or details.get("text")
            raise BrowserError("the page answered: %s" % said)
        return answer["result"].get("value") if by_value else answer["result"].get("objectId")

    def place(self, element, x, y, timeout):
        """Where to point, once the element stands still."""
        seen = [None]

        def still():
            self.call("DOM.scrollIntoViewIfNeeded", {"objectId": element})
            quads = self.call("DOM.getContentQuads", {"objectId": element})["quads"]
            last, seen[0] = seen[0], quads[0] if quads else None
            return seen[0] is not None and last == seen[0]

        if not self.until(still, timeout):
            raise TimeoutError("the element did not stand still within %g s" % timeout)
        across, down = seen[0][0::2], seen[0][1::2]
        left, top, right, bottom = min(across), min(down), max(across), max(down)
        if x is None or y is None or not (0 <= x <= right - left and 0 <= y <= bottom - top):
            return (left + right) / 2, (top + bottom) / 2
        return left + x, top + y

    def mouse(self, kind, x, y, button="none", count=0):
        event = {"type": kind, "x": x, "y": y, "button": button, "clickCount": count, "modifiers": self.modifiers}
        if kind == "mousePressed":
            event["buttons"] = {"left": 1, "right": 2, "middle": 4, "back": 8, "forward": 16}[button]
        self.call("Input.dispatchMouseEvent", event)

    def key(self, kind, key):
        code = KEY_CODES.get(key) or (ord(key.upper()) if len(key) == 1 and key.isalnum() and key.isascii() else 0)
        bit = MODIFIERS.get(key, 0)
        if kind == "keyDown":
            self.modifiers |= bit
        else:
            self.modifiers &= ~bit
        event = {"type": kind, "key": key, "windowsVirtualKeyCode": code, "modifiers": self.modifiers}
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        if kind == "keyDown" and text and not self.modifiers & 0b0111:
            event["text"] = text
        elif kind == "keyDown":
            event["type"] = "rawKeyDown"
        self.call("Input.dispatchKeyEvent", event)
