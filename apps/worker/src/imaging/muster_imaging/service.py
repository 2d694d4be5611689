"""Client of the service, and of the store by the URLs that it signs. Temporary errors are retried without a limit."""

import http.client
import json
import os
import ssl
import time
import urllib.parse

from .faults import CommandFault

FIRST_REST, LONGEST_REST = 0.25, 15.0
TIMEOUT = 60


class Refused(Exception):
    """The store refused the file, probably permanently."""


class Service:
    def __init__(self, environment=os.environ):
        self.base = environment["SERVICE_BASE_URL"].rstrip("/")
        self.key = environment["SERVICE_API_KEY"]
        self.command = environment["MUSTER_RUN_ID"]
        self.path = f"/api/agents/{environment['AGENT_ID']}/commands/{self.command}"
        origin = {"x-request-id": environment.get("MUSTER_REQUEST_ID"), "traceparent": environment.get("TRACEPARENT")}
        self.origin = {name: value for name, value in origin.items() if value}
        self.connections = Connections()

    def request_tickets(self, objects):
        """Returns the upload URLs of objects (name, ordinal, size), in their order."""
        answer = self.post_until_answered("/uploads", {"objects": objects})
        return answer["uploads"]

    def send_progress(self, done, failed, total):
        """Sends the progress without a retry, because nothing depends on it."""
        try:
            self.post_once("/progress", {"done": done, "failed": failed, "total": total})
        except OSError:
            pass
        except http.client.HTTPException:
            pass

    def post_until_answered(self, path, body):
        rest = FIRST_REST
        while True:
            wait = rest
            try:
                status, answer, retry_after_seconds = self.post_once(path, body)
                if status < 300:
                    return answer
                if status in (404, 409):
                    raise CommandFault("conflict", "the service does not wait for this command any more")
                if status < 500 and status not in (401, 403, 408, 425, 429):
                    raise CommandFault("invalid_payload", f"the service refused the request ({status})")
                wait = max(rest, retry_after_seconds)
            except (OSError, http.client.HTTPException, ValueError):
                pass
            time.sleep(wait)
            rest = min(rest * 2, LONGEST_REST)

    def post_once(self, path, body):
        headers = {"x-api-key": self.key, "content-type": "application/json", "accept": "application/json", **self.origin}
        url = self.base + self.path + path
        status, text, received = self.connections.send_request("POST", url, headers, json.dumps(body).encode())
        retry_after = received.get("retry-after", "")
        answer = json.loads(text) if status < 300 else {}
        return status, answer, float(retry_after) if retry_after.isdigit() else 0.0

    def upload_file(self, ticket, path):
        """Makes one attempt to upload a file. The API key is for the service only and is not sent."""
        with open(path, "rb") as file:
            body = file.read()
        url = urllib.parse.urljoin(self.base + "/", ticket["uploadUrl"])
        status, _, _ = self.connections.send_request(ticket["method"], url, dict(ticket["headers"]), body)
        if 200 <= status < 300:
            return
        if status >= 500 or status in (408, 425, 429):
            raise OSError(f"the store answered {status}")
        raise Refused(f"the store answered {status}")


class Connections:
    """Connections that stay open between requests, one for each thread that sends at the same time."""

    def __init__(self):
        self.idle = {}
        self.tls = ssl.create_default_context()

    def send_request(self, method, url, headers, body):
        parts = urllib.parse.urlsplit(url)
        place = (parts.scheme, parts.netloc)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        idle_connections = self.idle.setdefault(place, [])
        connection = idle_connections.pop() if idle_connections else None
        if connection is not None:
            # The other side may have closed an idle connection, which is noticed only now.
            try:
                return self.send_on_connection(connection, idle_connections, method, target, headers, body)
            except (OSError, http.client.HTTPException):
                pass
        return self.send_on_connection(self.open_connection(parts), idle_connections, method, target, headers, body)

    def send_on_connection(self, connection, idle_connections, method, target, headers, body):
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            text = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            idle_connections.append(connection)
        return response.status, text, response.headers

    def open_connection(self, parts):
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.netloc, timeout=TIMEOUT, context=self.tls)
        return http.client.HTTPConnection(parts.netloc, timeout=TIMEOUT)
