# --- What the steps above stand on: Chromium over the DevTools protocol, with the standard library alone. ---


class Browser:
    """A headless Chromium of its own, and the one connection to it."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="muster-browser-")
        self.messages = os.path.join(self.profile, "messages.log")
        self.process = None
        try:
            with open(self.messages, "wb") as messages:
                self.process = subprocess.Popen(
                    [find_browser(), *self.flags()],
                    stdin=subprocess.DEVNULL,
                    stdout=messages,
                    stderr=messages,
                )
            self.socket = WebSocket(*self.address())
        except BaseException:
            self.close()
            raise
        self.count = 0
        self.answers = {}
        self.pages = {}

    def flags(self):
        return [
            "--headless=new",
            "--remote-debugging-port=0",
            "--user-data-dir=" + self.profile,
            "--no-first-run",
            "--no-default-browser-check",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--mute-audio",
            "--password-store=basic",
            # Frames of other sites stay within reach of one session.
            "--disable-site-isolation-trials",
            "--disable-features=IsolateOrigins,site-per-process,Translate",
            # Chromium's sandbox refuses to work for root.
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            "about:blank",
        ]

    def address(self):
        """Chromium writes down where it listens."""
        deadline = time.monotonic() + 60
        path = os.path.join(self.profile, "DevToolsActivePort")
        while time.monotonic() < deadline:
            try:
                with open(path, encoding="ascii") as file:
                    port, _, place = file.read().partition("\n")
                if port and place.strip():
                    return int(port), place.strip()
            except OSError:
                pass
            if self.process.poll() is not None:
                raise RuntimeError("the browser ended at once: " + self.last_words())
            time.sleep(0.05)
        raise RuntimeError("the browser did not start within 60 s: " + self.last_words())

    def last_words(self):
        try:
            with open(self.messages, encoding="utf-8", errors="replace") as file:
                return file.read()[-1000:].strip() or "it said nothing"
        except OSError:
            return "it said nothing"

    def post(self, method, params=None, session=None):
        """Sends a command and does not wait for its answer."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        self.socket.send(json.dumps(message))
        return self.count

    def call(self, method, params=None, session=None, timeout=30):
        number = self.post(method, params, session)
        deadline = time.monotonic() + timeout
        while number not in self.answers:
            if not self.listen(deadline):
                raise TimeoutError("%s was not answered within %g s" % (method, timeout))
        answer = self.answers.pop(number)
        if "error" in answer:
            raise BrowserError("%s: %s" % (method, answer["error"].get("message")))
        return answer.get("result", {})

    def listen(self, deadline):
        """Takes one message; False where none came in time."""
        text = self.socket.receive(max(0.001, deadline - time.monotonic()))
        if text is None:
            return False
        message = json.loads(text)
        if "id" in message:
            self.answers[message["id"]] = message
        else:
            page = self.pages.get(message.get("sessionId"))
            if page:
                page.happened(message["method"], message.get("params", {}))
        return True

    def rest(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.listen(deadline)

    def page(self, target="main", timeout=30):
        """The tab that a step is for: the first one, or the one that shows the address."""
        deadline = time.monotonic() + timeout
        known = {page.target: page for page in self.pages.values()}
        while True:
            infos = [info for info in self.call("Target.getTargets")["targetInfos"] if info["type"] == "page"]
            if target == "main":
                if known:
                    return next(iter(known.values()))
                chosen = infos[:1]
            else:
                chosen = [info for info in infos if same_address(info["url"], target)]
            if chosen:
                number = chosen[0]["targetId"]
                return known.get(number) or self.attach(number)
            if time.monotonic() > deadline:
                raise TimeoutError("no tab shows %s" % target)
            self.rest(0.1)

    def attach(self, target):
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self.pages[session] = Page(self, target, session)
        for domain in ("Page", "Runtime", "DOM", "Network"):
            page.call(domain + ".enable")
        return page

    def close(self):
        # Asked, it clears up after itself; what does not listen is made to end.
        ends = [lambda: self.post("Browser.close"), self.process.terminate, self.process.kill] if self.process else []
        for end in ends:
            try:
                end()
                self.process.wait(5)
                break
            except Exception:
                continue
        shutil.rmtree(self.profile, ignore_errors=True)


class BrowserError(RuntimeError):
    pass


class Page:
    """A tab. Its steps take what the recorder wrote; selectors are tried in its order until one fits."""

    def __init__(self, browser, target, session):
        self.browser = browser
        self.target = target
        self.session = session
        self.contexts = {}
        self.navigations = 0
        self.modifiers = 0

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
        self.key("keyDown", key)

    def key_up(self, key):
        self.key("keyUp", key)

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
        for selector in selectors:
            chain = [selector] if isinstance(selector, str) else selector
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


MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
KEY_CODES = {
    **{"Backspace": 8, "Tab": 9, "Enter": 13, "Shift": 16, "Control": 17, "Alt": 18, "Pause": 19, "CapsLock": 20},
    **{"Escape": 27, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38},
    **{"ArrowRight": 39, "ArrowDown": 40, "Insert": 45, "Delete": 46, "Meta": 91, "ContextMenu": 93},
    **{"F%d" % number: 111 + number for number in range(1, 13)},
}

IS_VISIBLE = """(element) => {
  const box = element.getBoundingClientRect();
  const style = element.ownerDocument.defaultView.getComputedStyle(element);
  return box.width > 0 && box.height > 0 && style.visibility !== 'hidden' && style.display !== 'none';
}"""

QUERY = """function (selector) {
  const root = this;
  const all = (from) => [...from.querySelectorAll('*')].flatMap((each) =>
    each.shadowRoot ? [each, ...all(each.shadowRoot)] : [each]);
  const words = (text) => (text || '').replace(/\\s+/g, ' ').trim();
  try {
    if (selector.startsWith('xpath/')) {
      const owner = root.ownerDocument || root;
      const found = owner.evaluate(selector.slice(6), root, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
      return Array.from({ length: found.snapshotLength }, (_, at) => found.snapshotItem(at));
    }
    if (selector.startsWith('text/')) {
      const wanted = words(selector.slice(5));
      const has = (each) => !['SCRIPT', 'STYLE', 'HEAD', 'TITLE', 'HTML'].includes(each.tagName) &&
        words(each instanceof HTMLInputElement ? each.value : each.textContent).includes(wanted);
      return all(root).filter((each) => has(each) && ![...each.children].some(has));
    }
    if (selector.startsWith('pierce/')) return all(root).filter((each) => each.matches(selector.slice(7)));
    return [...root.querySelectorAll(selector.replace(/^css\\//, ''))];
  } catch (error) {
    // A selector that this browser cannot read fits nothing; the next one may.
    return [];
  }
}"""

KIND_OF = """function () {
  if (this.isContentEditable || this instanceof HTMLTextAreaElement) return 'typed';
  if (!(this instanceof HTMLInputElement)) return 'set';
  if (this.type === 'file') return 'file';
  return ['text', 'url', 'tel', 'search', 'password', 'number', 'email'].includes(this.type) ? 'typed' : 'set';
}"""

SELECT_ALL = """function () {
  this.focus();
  if (this.select) this.select();
  else this.ownerDocument.defaultView.getSelection().selectAllChildren(this);
}"""

SET_VALUE = """function (value) {
  if (this.isContentEditable) this.textContent = value;
  else {
    const owner = this instanceof HTMLSelectElement ? HTMLSelectElement
      : this instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
    // Frameworks put a setter of their own in front of this one.
    Object.getOwnPropertyDescriptor(owner.prototype, 'value').set.call(this, value);
    if (this instanceof HTMLSelectElement && this.value !== value) return false;
  }
  for (const name of ['input', 'change']) this.dispatchEvent(new Event(name, { bubbles: true }));
  return true;
}"""

HAS = """function (visible, attributes, properties) {
  const same = (value, wanted) => wanted && typeof wanted === 'object'
    ? value && Object.entries(wanted).every(([name, inner]) => same(value[name], inner))
    : value === wanted;
  return (%s)(this) === visible && same(this, properties) &&
    Object.entries(attributes).every(([name, value]) => this.getAttribute(name) === value);
}""" % IS_VISIBLE


class WebSocket:
    """RFC 6455 from the client's side, as far as a browser on this machine needs it."""

    def __init__(self, port, path):
        self.socket = socket.create_connection(("127.0.0.1", port), 30)
        self.buffer = b""
        self.parts = b""
        key = base64.b64encode(os.urandom(16)).decode("ascii")
        lines = [
            "GET %s HTTP/1.1" % path,
            "Host: 127.0.0.1:%d" % port,
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Key: " + key,
            "Sec-WebSocket-Version: 13",
        ]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("ascii"))
        while b"\r\n\r\n" not in self.buffer:
            self.read()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if not head.startswith(b"HTTP/1.1 101"):
            raise RuntimeError("the browser refused the connection: %s" % head[:200])

    def send(self, text, kind=1):
        data = text.encode("utf-8") if isinstance(text, str) else text
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
        elif size < 65536:
            head = struct.pack("!BBH", 0x80 | kind, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, size)
        # A mask of zeros is a mask: nobody is between us and the browser whom it would have to confuse.
        self.socket.settimeout(30)
        self.socket.sendall(head + b"\0\0\0\0" + data)

    def receive(self, timeout):
        """The next message; None where there is none in time."""
        deadline = time.monotonic() + timeout
        while True:
            frame = self.frame()
            if frame is None:
                self.socket.settimeout(max(0.001, deadline - time.monotonic()))
                try:
                    self.read()
                except socket.timeout:
                    return None
                continue
            last, kind, data = frame
            if kind == 8:
                raise EndOfBrowser("the browser has ended")
            if kind == 9:
                self.send(data, 10)
            if kind in (0, 1, 2):
                self.parts += data
                if last:
                    text, self.parts = self.parts, b""
                    return text.decode("utf-8", "replace")

    def frame(self):
        if len(self.buffer) < 2:
            return None
        first, second = self.buffer[0], self.buffer[1]
        size, start = second & 0x7F, 2
        if size >= 126:
            width = 2 if size == 126 else 8
            if len(self.buffer) < 2 + width:
                return None
            size, start = int.from_bytes(self.buffer[2 : 2 + width], "big"), 2 + width
        if len(self.buffer) < start + size:
            return None
        data, self.buffer = self.buffer[start : start + size], self.buffer[start + size :]
        return bool(first & 0x80), first & 0x0F, data

    def read(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise EndOfBrowser("the browser has ended")
        self.buffer += data


class EndOfBrowser(RuntimeError):
    pass


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
