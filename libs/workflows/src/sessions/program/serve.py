# --- The session: answers commands one after the other, until it is ended or receives no more commands. ---

ANSWERS, ASKED, PICTURES, JOURNAL = "answers", "asked", "pictures", "journal"


def serve():
    browser = None
    try:
        browser = SessionBrowser()
        write_atomically("ready.json", open_start_page(browser))
        asked_at, measured_at = time.monotonic(), 0
        while time.monotonic() < asked_at + GIVEN["idleMinutes"] * 60:
            for name in sorted(name for name in os.listdir(ASKED) if name.endswith(".json")):
                answer_command(browser, name)
                asked_at = time.monotonic()
            browser.rest(0.03 if time.monotonic() < asked_at + 60 else 0.25)
            if time.monotonic() > measured_at + 3:
                measured_at = time.monotonic()
                require_memory(browser)
        raise Over("it received no command for %g minutes" % GIVEN["idleMinutes"])
    except Exception as error:
        why = "%s" % error if isinstance(error, Over) else format_error(error)
        write_atomically("over.json", {"why": hide(why)[:2000]})
    finally:
        if browser:
            browser.close()


def open_start_page(browser):
    fault = None
    try:
        if GIVEN["startUrl"]:
            browser.page().navigate(GIVEN["startUrl"])
    except (BrowserError, TimeoutError, OutOfBounds) as error:
        # The service decides what to do, by the page that is shown instead.
        fault = hide(str(error))
    shown = describe_page(browser.page(), os.path.join(PICTURES, "start.jpg"))
    return {"isOpened": True, "startError": fault, "look": shown}


def answer_command(browser, name):
    path = os.path.join(ASKED, name)
    with open(path, encoding="utf-8") as file:
        asked = json.load(file)
    take_codes(asked["payload"].pop("codes", None))
    number = name[: -len(".json")]
    picture = os.path.join(PICTURES, number + ".jpg") if asked["payload"].get("screenshot", True) else None
    browser.until = time.monotonic() + max(1, asked["leftMs"] / 1000)
    # A code of a later time window is not used before that window.
    ready_at = time.monotonic() + (asked["payload"].get("codesAfterMs") or 0) / 1000
    while time.monotonic() < ready_at:
        browser.rest(0.03)
    try:
        output = perform_command(browser, asked, os.path.join(JOURNAL, number + ".jsonl"))
    except AttemptOver as error:
        output = {"holds": False, "unmet": str(error)}
    finally:
        browser.until = None
        browser.attempt = None
    output["blocked"], browser.blocked = browser.blocked, []
    try:
        output["look"] = describe_page(browser.page(), picture)
    except (BrowserError, TimeoutError) as error:
        raise Over("the page does not answer: %s" % error) from error
    for page in browser.pages.values():
        page.release_objects()
    write_atomically(os.path.join(ANSWERS, name), output)
    os.remove(path)


def perform_command(browser, asked, journal):
    payload = asked["payload"]
    if asked["kind"] == "autopilot_attempt":
        browser.attempt = Attempt(browser, payload, journal)
        return browser.attempt.run()
    if asked["kind"] == "autopilot_open":
        return {"isOpened": True}
    if not payload.get("expect"):
        return {}
    try:
        expect(browser.page(), **to_expect_arguments(payload["expect"]))
        return {"holds": True}
    except (UnmetExpectation, NoSuchName, OutOfBounds) as error:
        return {"holds": False, "unmet": hide(str(error))}


def require_memory(browser):
    """Ends the session if its processes use too much memory, before the machine runs out of it."""
    used = sum(read_resident_bytes(pid) for pid in list_descendants(os.getpid()))
    if used > GIVEN["memoryBytes"]:
        raise Over("its browser used %d MiB of memory" % (used // 1048576))


def list_descendants(root):
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, encoding="latin-1") as file:
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
    found, ahead = set(), [root]
    while ahead:
        above = ahead.pop()
        found.add(above)
        ahead.extend(pid for pid, parent in parents.items() if parent == above and pid not in found)
    return found


def read_resident_bytes(pid):
    """Returns the resident memory of a process, without the memory that it shares with other processes."""
    try:
        with open("/proc/%d/statm" % pid, encoding="ascii") as file:
            _, all_pages, shared = file.read().split()[:3]
        return (int(all_pages) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def format_error(error):
    return "%s: %s" % (type(error).__name__, error)


def write_atomically(path, value):
    draft = path + ".draft"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(draft, path)


serve()
