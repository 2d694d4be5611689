# --- The runtime of the steps above: controls Chromium over the DevTools protocol, with only the standard library. ---


class Browser:
    """A separate headless Chromium, and the only connection to it."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="muster-browser-")
        self.messages = os.path.join(self.profile, "messages.log")
        self.process = None
        self.pipe = None
        try:
            with open(self.messages, "wb") as messages:
                if EXTENSIONS:
                    self.pipe = Pipe()
                self.process = subprocess.Popen(
                    [*(self.pipe.build_command() if self.pipe else []), find_browser(), *self.build_flags()],
                    stdin=subprocess.DEVNULL,
                    stdout=messages,
                    stderr=messages,
                    pass_fds=self.pipe.browser_ends if self.pipe else (),
                )
            port, path = self.read_debugging_address()
            self.socket = WebSocket(port, path)
            # Lets people watch the browser. A worker of an older version does not offer that.
            getattr(muster, "browser", lambda url: None)("ws://127.0.0.1:%d%s" % (port, path))
            if self.pipe:
                self.pipe.load_extensions(EXTENSIONS, self.read_last_output)
        except BaseException:
            self.close()
            raise
        self.count = 0
        self.waited = set()
        self.answers = {}
        self.pages = {}

    def build_flags(self):
        return [
            "--headless=new",
            "--remote-debugging-port=0",
            *(["--remote-debugging-pipe", "--enable-unsafe-extension-debugging"] if self.pipe else []),
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
            # Keeps frames of other sites in the DevTools session of their page.
            "--disable-site-isolation-trials",
            "--disable-features=IsolateOrigins,site-per-process,Translate",
            # Chromium's sandbox refuses to work for root.
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            "about:blank",
        ]

    def read_debugging_address(self):
        """Returns the port and path at which Chromium listens, from the file that Chromium writes."""
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
                raise RuntimeError("the browser ended at once: " + self.read_last_output())
            time.sleep(0.05)
        raise RuntimeError("the browser did not start within 60 s: " + self.read_last_output())

    def read_last_output(self):
        try:
            with open(self.messages, encoding="utf-8", errors="replace") as file:
                return file.read()[-1000:].strip() or "it printed nothing"
        except OSError:
            return "it printed nothing"

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
        self.waited.add(number)
        deadline = time.monotonic() + timeout
        try:
            while number not in self.answers:
                if not self.receive_message(deadline):
                    raise TimeoutError("%s was not answered within %g s" % (method, timeout))
            answer = self.answers.pop(number)
        finally:
            self.waited.discard(number)
        if "error" in answer:
            raise BrowserError("%s: %s" % (method, answer["error"].get("message")))
        return answer.get("result", {})

    def receive_message(self, deadline):
        """Receives and handles one message. Returns False if none arrives before the deadline."""
        text = self.socket.receive(max(0.001, deadline - time.monotonic()))
        if text is None:
            return False
        message = json.loads(text)
        if "id" not in message:
            self.handle_message(message["method"], message.get("params", {}), message.get("sessionId"))
        elif message["id"] in self.waited:
            self.answers[message["id"]] = message
        return True

    def handle_message(self, method, params, session):
        page = self.pages.get(session)
        if page:
            page.handle_event(method, params)

    def rest(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.receive_message(deadline)

    def wait_until_idle(self, timeout):
        """Waits until no page is loading or has an open request, but not longer than the timeout."""
        deadline = time.monotonic() + timeout
        self.rest(0.3)
        while any(page.loading or page.requests for page in self.pages.values()) and time.monotonic() < deadline:
            self.receive_message(min(deadline, time.monotonic() + 0.5))

    def page(self, target="main", timeout=30):
        """Returns the tab of a step: the first tab, or the tab that shows the address."""
        deadline = time.monotonic() + timeout
        known = {page.target: page for page in self.pages.values()}
        while True:
            infos = [info for info in self.call("Target.getTargets")["targetInfos"] if info["type"] == "page"]
            if target == "main":
                if known:
                    return next(iter(known.values()))
                chosen = infos[:1]
            else:
                chosen = [info for info in infos if same_address(info["url"], fill(target))]
            if chosen:
                number = chosen[0]["targetId"]
                return known.get(number) or self.attach_to_tab(number)
            if time.monotonic() > deadline:
                raise TimeoutError("no tab shows %s" % target)
            self.rest(0.1)

    def attach_to_tab(self, target):
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self.pages[session] = Page(self, target, session)
        for domain in ("Page", "Runtime", "DOM", "Network"):
            page.call(domain + ".enable")
        return page

    def close(self):
        # Asks the browser to close, so that it can clean up, and kills it if it does not end.
        ends = [lambda: self.post("Browser.close"), self.process.terminate, self.process.kill] if self.process else []
        for end in ends:
            try:
                end()
                self.process.wait(5)
                break
            except Exception:
                continue
        shutil.rmtree(self.profile, ignore_errors=True)


# Unpacked browser extensions that were deployed to this machine.
EXTENSIONS = [path for path in os.environ.get("MUSTER_BROWSER_EXTENSIONS", "").split(os.pathsep) if path]


class Pipe:
    """A second connection to the browser, and the only one that can load extensions. The browser ends when the pipe is
    closed."""

    def __init__(self):
        # This program reads `source` and writes `sink`; the browser has the other two ends.
        self.source, written = os.pipe()
        read, self.sink = os.pipe()
        self.browser_ends = (read, written)

    def build_command(self):
        """Returns a command that moves the browser's ends to the descriptors 3 and 4 and then starts the browser. In this
        process, these descriptors may be in use."""
        place = "import os,sys\na,b=(os.dup(os.dup(int(x)))for x in sys.argv[1:3])\nos.dup2(a,3)\nos.dup2(b,4)\n"
        place += "os.execvp(sys.argv[3],sys.argv[3:])"
        return [sys.executable, "-I", "-S", "-c", place, *map(str, self.browser_ends)]

    def load_extensions(self, paths, read_last_output):
        for end in self.browser_ends:
            os.close(end)
        for path in paths:
            message = {"id": 1, "method": "Extensions.loadUnpacked", "params": {"path": path}}
            os.write(self.sink, json.dumps(message).encode() + b"\0")
            answer = b""
            while not answer.endswith(b"\0"):
                ready, _, _ = select.select([self.source], [], [], 30)
                piece = os.read(self.source, 65536) if ready else b""
                if not piece:
                    raise RuntimeError("the browser rejected the extension %s: %s" % (path, read_last_output()))
                answer += piece
            error = json.loads(answer[:-1]).get("error")
            if error:
                raise RuntimeError("the browser rejected the extension %s: %s" % (path, error.get("message")))


class BrowserError(RuntimeError):
    pass
