class Page:
    """A tab. Its steps have the arguments that the recorder wrote. Selectors are tried in order until one matches."""

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

    def handle_event(self, method, params):
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
            # Accepts the dialog, because no person answers it and the page waits for an answer.
            self.browser.post("Page.handleJavaScriptDialog", {"accept": True}, self.session)
            muster.log("info", "the page showed a dialog: %s" % params.get("message"))

    # The step types of the recorder.

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
        self.wait_until_loaded(deadline)

    def click(self, selectors, x=None, y=None, button="left", count=1, hold=0, touch=False, frame=(), timeout=30):
        found = self.find_element(selectors, frame, timeout)
        asked = (x, y)
        x, y = self.find_click_point(found, *asked, timeout)
        if touch:
            self.call("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
            self.browser.rest(hold)
            self.call("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
            return
        self.send_mouse_event("mouseMoved", x, y)
        # The pointer can open or close a menu, which moves the element. So the point is determined again.
        moved = self.find_click_point(found, *asked, timeout)
        if moved != (x, y):
            x, y = moved
            self.send_mouse_event("mouseMoved", x, y)
        for number in range(1, count + 1):
            self.send_mouse_event("mousePressed", x, y, button, number)
            self.browser.rest(hold)
            self.send_mouse_event("mouseReleased", x, y, button, number)

    def hover(self, selectors, frame=(), timeout=30):
        element = self.find_element(selectors, frame, timeout)
        self.send_mouse_event("mouseMoved", *self.find_click_point(element, None, None, timeout))

    def change(self, selectors, value, frame=(), timeout=30):
        value = fill(value)
        element = self.find_element(selectors, frame, timeout)
        kind = self.call_function(element, KIND_OF)
        if kind == "file":
            self.call("DOM.setFileInputFiles", {"objectId": element, "files": [os.path.abspath(value)]})
        elif kind == "typed":
            self.call_function(element, SELECT_ALL)
            # Typed text replaces the selection. insertText cannot insert an empty text, so the selection is deleted instead.
            if value:
                self.call("Input.insertText", {"text": value})
            else:
                self.call_function(element, "function () { this.ownerDocument.execCommand('delete'); }")
            # The browser sends the change event, once, when the field loses the focus.
            self.call_function(element, "function () { this.blur(); this.focus(); }")
        elif not self.call_function(element, SET_VALUE, value):
            raise ValueError("there is no choice %r" % value)

    def key_down(self, key):
        self.send_key_event("keyDown", fill(key))

    def key_up(self, key):
        self.send_key_event("keyUp", fill(key))

    def scroll(self, x=0, y=0, selectors=None, frame=(), timeout=30):
        if selectors:
            element = self.find_element(selectors, frame, timeout, visible=False)
            scroll = "function (x, y) { this.scrollTo({ left: x, top: y, behavior: 'instant' }); }"
            self.call_function(element, scroll, x, y)
        else:
            where = json.dumps({"left": x, "top": y, "behavior": "instant"})
            self.evaluate("window.scrollTo(%s)" % where, frame)

    def wait_for_element(
        self, selectors, operator=">=", count=1, visible=True, attributes=None, properties=None, frame=(), timeout=30
    ):
        fits = {">=": lambda n: n >= count, "==": lambda n: n == count, "<=": lambda n: n <= count}[operator]
        seen = [0]

        def has_enough():
            found = self.find_matching(selectors, frame)
            wanted = (bool(visible), attributes or {}, properties or {})
            seen[0] = sum(1 for element in found if self.call_function(element, HAS, *wanted))
            return fits(seen[0])

        if not self.wait_until(has_enough, timeout):
            message = "%s: %d of them, and not %s %d within %g s"
            raise TimeoutError(message % (format_selectors(selectors), seen[0], operator, count, timeout))

    def wait_for_expression(self, expression, frame=(), timeout=30):
        if not self.wait_until(lambda: self.evaluate(fill(expression), frame), timeout):
            raise TimeoutError("%s was not true within %g s" % (expression, timeout))

    def close(self):
        self.browser.call("Target.closeTarget", {"targetId": self.target})
        self.browser.pages.pop(self.session, None)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", {"format": "png"}, 10)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    # Functions that the steps use.

    @contextlib.contextmanager
    def navigation(self, timeout=30):
        """Waits until the page that the step opens is loaded. The recording shows that the step opens another page."""
        before = self.navigations
        deadline = time.monotonic() + timeout
        yield
        if not self.wait_until(lambda: self.navigations > before, timeout):
            raise TimeoutError("the step opened no page within %g s" % timeout)
        self.wait_until_loaded(deadline)

    @contextlib.contextmanager
    def settled(self, timeout=30):
        """Waits until a page that the step may have opened is loaded. It is not known whether the step opens one."""
        yield
        self.browser.rest(0.2)
        deadline = time.monotonic() + timeout
        while self.loading and time.monotonic() < deadline:
            self.browser.receive_message(min(deadline, time.monotonic() + 0.5))

    def wait_until_loaded(self, deadline):
        left = max(0.1, deadline - time.monotonic())
        if not self.wait_until(lambda: self.evaluate("document.readyState") == "complete", left):
            raise TimeoutError("the page was not loaded in time")

    def wait_until(self, condition, timeout):
        """Checks the condition until it is true or the time is over. A BrowserError counts as false, because elements
        may be missing while the page changes."""
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

    def find_element(self, selectors, frame, timeout, visible=True):
        found = []

        def find_visible():
            for element in self.find_matching(selectors, frame):
                if not visible or self.call_function(element, "function () { return (%s)(this); }" % IS_VISIBLE):
                    found[:] = [element]
                    return True
            return False

        if not self.wait_until(find_visible, timeout):
            raise TimeoutError("no element matches %s within %g s" % (format_selectors(selectors), timeout))
        return found[0]

    def find_matching(self, selectors, frame):
        """Returns the elements of the first selector that matches any."""
        for selector in list_selectors(selectors):
            chain = [fill(part) for part in ([selector] if isinstance(selector, str) else selector)]
            found = [self.evaluate("document", frame, by_value=False)]
            for place, part in enumerate(chain):
                if place:
                    get_root = "function () { return this.shadowRoot || this; }"
                    roots = [self.call_for_handle(each, get_root) for each in found]
                else:
                    roots = found
                found = [each for root in roots for each in self.query_elements(root, part)]
            if found:
                return found
        return []

    def query_elements(self, root, selector):
        if selector.startswith("aria/"):
            return self.query_by_accessible_name(root, selector[5:])
        listed = self.call_for_handle(root, QUERY, selector)
        parts = self.call("Runtime.getProperties", {"objectId": listed, "ownProperties": True})["result"]
        return [part["value"]["objectId"] for part in parts if part["name"].isdigit()]

    def query_by_accessible_name(self, root, selector):
        """Returns elements by their accessible name, and by their role if the selector contains [role="..."]."""
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

    def find_context(self, frame):
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
            asked["contextId"] = self.find_context(frame)
        return self.read_answer(self.call("Runtime.evaluate", asked), by_value)

    def call_function(self, element, function, *values, by_value=True):
        asked = {"objectId": element, "functionDeclaration": function, "returnByValue": by_value}
        asked["arguments"] = [{"value": value} for value in values]
        return self.read_answer(self.call("Runtime.callFunctionOn", asked), by_value)

    def call_for_handle(self, element, function, *values):
        return self.call_function(element, function, *values, by_value=False)

    @staticmethod
    def read_answer(answer, by_value):
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            said = (details.get("exception") or {}).get("description") or details.get("text")
            raise BrowserError("the page answered: %s" % said)
        return answer["result"].get("value") if by_value else answer["result"].get("objectId")

    def find_click_point(self, element, x, y, timeout):
        """Returns the point to click, once the element no longer moves."""
        seen = [None]

        def is_still():
            self.call("DOM.scrollIntoViewIfNeeded", {"objectId": element})
            quads = self.call("DOM.getContentQuads", {"objectId": element})["quads"]
            last, seen[0] = seen[0], quads[0] if quads else None
            return seen[0] is not None and last == seen[0]

        if not self.wait_until(is_still, timeout):
            raise TimeoutError("the element kept moving for %g s" % timeout)
        across, down = seen[0][0::2], seen[0][1::2]
        left, top, right, bottom = min(across), min(down), max(across), max(down)
        if x is None or y is None or not (0 <= x <= right - left and 0 <= y <= bottom - top):
            return (left + right) / 2, (top + bottom) / 2
        return left + x, top + y

    def send_mouse_event(self, kind, x, y, button="none", count=0):
        event = {"type": kind, "x": x, "y": y, "button": button, "clickCount": count, "modifiers": self.modifiers}
        if kind == "mousePressed":
            event["buttons"] = {"left": 1, "right": 2, "middle": 4, "back": 8, "forward": 16}[button]
        self.call("Input.dispatchMouseEvent", event)

    def send_key_event(self, kind, key):
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
