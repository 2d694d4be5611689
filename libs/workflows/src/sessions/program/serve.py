# --- The session: it answers what is asked of it, one after the other, until it is ended or nobody asks any more. ---

ANSWERS, ASKED, PICTURES, JOURNAL = "answers", "asked", "pictures", "journal"


def serve():
    browser = None
    try:
        browser = SessionBrowser()
        write_whole("ready.json", open_start(browser))
        asked_at, measured_at = time.monotonic(), 0
        while time.monotonic() < asked_at + GIVEN["idleMinutes"] * 60:
            for name in sorted(name for name in os.listdir(ASKED) if name.endswith(".json")):
                answer(browser, name)
                asked_at = time.monotonic()
            browser.rest(0.03 if time.monotonic() < asked_at + 60 else 0.25)
            if time.monotonic() > measured_at + 3:
                measured_at = time.monotonic()
                require_memory(browser)
        raise Over("nobody gave it a command for %g minutes" % GIVEN["idleMinutes"])
    except Exception as error:
        write_whole("over.json", {"why": hide("%s" % error if isinstance(error, Over) else told_whole(error))[:2000]})
    finally:
        if browser:
            browser.close()


def open_start(browser):
    fault = None
    try:
        if GIVEN["startUrl"]:
            browser.page().navigate(GIVEN["startUrl"])
    except (BrowserError, TimeoutError, OutOfBounds) as error:
        # What is to be seen instead is the service's to judge.
        fault = hide(str(error))
    shown = look(browser.page(), os.path.join(PICTURES, "start.jpg"))
    return {"isOpened": True, "startError": fault, "look": shown}


def answer(browser, name):
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
        output = perform(browser, asked, os.path.join(JOURNAL, number + ".jsonl"))
    except AttemptOver as error:
        output = {"holds": False, "unmet": str(error)}
    finally:
        browser.until = None
        browser.attempt = None
    output["blocked"], browser.blocked = browser.blocked, []
    try:
        output["look"] = look(browser.page(), picture)
    except (BrowserError, TimeoutError) as error:
        raise Over("the page does not answer: %s" % error) from error
    for page in browser.pages.values():
        page.let_go()
    write_whole(os.path.join(ANSWERS, name), output)
    os.remove(path)


def perform(browser, asked, journal):
    payload = asked["payload"]
    if asked["kind"] == "autopilot_attempt":
        browser.attempt = Attempt(browser, payload, journal)
        return browser.attempt.run()
    if asked["kind"] == "autopilot_open":
        return {"isOpened": True}
    if not payload.get("expect"):
        return {}
    try:
        expect(browser.page(), **expectation(payload["expect"]))
        return {"holds": True}
    except (UnmetExpectation, NoSuchName, OutOfBounds) as error:
        return {"holds": False, "unmet": hide(str(error))}


def require_memory(browser):
    """A page that grows without end shall not take the machine with it."""
    used = sum(resident(pid) for pid in descendants(os.getpid()))
    if used > GIVEN["memoryBytes"]:
        raise Over("its browser used %d MiB of memory" % (used // 1048576))


def descendants(root):
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


def resident(pid):
    """Not shared with others, so that what they share counts once at most."""
    try:
        with open("/proc/%d/statm" % pid, encoding="ascii") as file:
            _, all_pages, shared = file.read().split()[:3]
        return (int(all_pages) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def told_whole(error):
    return "%s: %s" % (type(error).__name__, error)


def write_whole(path, value):
    draft = path + ".draft"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(draft, path)


serve()
