class WebSocket:
    """A WebSocket client (RFC 6455), limited to what a browser on this machine needs."""

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
            self.read_bytes()
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
        # A client must mask its frames. The mask is zero, because there is no proxy between this program and the
        # browser that unmasked bytes could confuse.
        self.socket.settimeout(30)
        self.socket.sendall(head + b"\0\0\0\0" + data)

    def receive(self, timeout):
        """Returns the next message; None if none arrives in time."""
        deadline = time.monotonic() + timeout
        while True:
            frame = self.parse_frame()
            if frame is None:
                self.socket.settimeout(max(0.001, deadline - time.monotonic()))
                try:
                    self.read_bytes()
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

    def parse_frame(self):
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

    def read_bytes(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise EndOfBrowser("the browser has ended")
        self.buffer += data


class EndOfBrowser(RuntimeError):
    pass
