# --- What the steps above stand on: Chromium over the DevTools protocol, with the standard library alone. ---


class Browser:
    """A headless Chromium of its own, and the one connection to it."""

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
                    [*(self.pipe.command() if self.pipe else []), find_browser(), *self.flags()],
                    stdin=subprocess.DEVNULL,
                    stdout=messages,
                    stderr=messages,
                    pass_fds=self.pipe.theirs if self.pipe else (),
                )
            port, path = self.address()
            self.socket = WebSocket(port, path)
            # People can watch it, unless the worker is older than that.
            getattr(muster, "browser", lambda url: None)("ws://127.0.0.1:%d%s" % (port, path))
            if self.pipe:
                self.pipe.load(EXTENSIONS, self.last_words)
        except BaseException:
            self.close()
            raise
        self.count = 0
        self.waited = set()
        self.answers = {}
        self.pages = {}

    def flags(self):
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
        self.waited.add(number)
        deadline = time.monotonic() + timeout
        try:
            while number not in self.answers:
                if not self.listen(deadline):
                    raise TimeoutError("%s was not answered within %g s" % (method, timeout))
            answer = self.answers.pop(number)
        finally:
            self.waited.discard(number)
        if "error" in answer:
            raise BrowserError("%s: %s" % (method, answer["error"].get("message")))
        return answer.get("result", {})

    def listen(self, deadline):
        """Takes one message; False where none came in time."""
        text = self.socket.receive(max(0.001, deadline - time.monotonic()))
        if text is None:
            return False
        message = json.loads(text)
        if "id" not in message:
            self.heard(message["method"], message.get("params", {}), message.get("sessionId"))
        elif message["id"] in self.waited:
            self.answers[message["id"]] = message
        return True

    def heard(self, method, params, session):
        page = self.pages.get(session)
        if page:
            page.happened(method, params)

    def rest(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.listen(deadline)

    def settle(self, timeout):
        """What the pages are about to send, and what they have asked for, arrives; one that asks for ever is left."""
        deadline = time.monotonic() + timeout
        self.rest(0.3)
        while any(page.loading or page.requests for page in self.pages.values()) and time.monotonic() < deadline:
            self.listen(min(deadline, time.monotonic() + 0.5))

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
                chosen = [info for info in infos if same_address(info["url"], fill(target))]
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


# Unpacked browser extensions that were deployed to this machine.
EXTENSIONS = [path for path in os.environ.get("MUSTER_BROWSER_EXTENSIONS", "").split(os.pathsep) if path]


class Pipe:
    """The second way to the browser, the only one by which it takes extensions. It ends when this is closed."""

    def __init__(self):
        # What we read, what they write; what they read, what we write.
        self.source, written = os.pipe()
        read, self.sink = os.pipe()
        self.theirs = (read, written)

    def command(self):
        """The browser wants its ends as 3 and 4, which may be in use until another program stands in its place."""
        place = "import os,sys\na,b=(os.dup(os.dup(int(x)))for x in sys.argv[1:3])\nos.dup2(a,3)\nos.dup2(b,4)\n"
        place += "os.execvp(sys.argv[3],sys.argv[3:])"
        return [sys.executable, "-I", "-S", "-c", place, *map(str, self.theirs)]

    def load(self, paths, last_words):
        for end in self.theirs:
            os.close(end)
        for path in paths:
            message = {"id": 1, "method": "Extensions.loadUnpacked", "params": {"path": path}}
            os.write(self.sink, json.dumps(message).encode() + b"\0")
            answer = b""
            while not answer.endswith(b"\0"):
                ready, _, _ = select.select([self.source], [], [], 30)
                piece = os.read(self.source, 65536) if ready else b""
                if not piece:
                    raise RuntimeError("the browser does not take the extension %s: %s" % (path, last_words()))
                answer += piece
            error = json.loads(answer[:-1]).get("error")
            if error:
                raise RuntimeError("the browser does not take the extension %s: %s" % (path, error.get("message")))


class BrowserError(RuntimeError):
    pass
