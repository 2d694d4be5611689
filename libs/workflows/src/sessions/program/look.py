# --- Describes the page: its accessibility tree, and a screenshot in which secrets are covered. ---

MAX_TREE = 40000
MAX_NAME = 300
MAX_OPTIONS = 40
# Roles that are left out: they only group other elements, or repeat the text of their parent.
UNSAID = {"none", "generic", "InlineTextBox", "LineBreak", "RootWebArea", "paragraph", "LabelText", "MenuListPopup"}
STATES = ("checked", "disabled", "expanded", "invalid", "multiline", "pressed", "readonly", "required", "selected")
BULLETS = re.compile("^[\u2022\u25cf*]+$")

PASSWORD_FIELD = """[...document.querySelectorAll('input[type=password]')].some(%s)""" % IS_VISIBLE
ASKS_FOR = """(() => {
  const shown = %s;
  const some = (selector) => [...document.querySelectorAll(selector)].some(shown);
  if (some('iframe[src*=captcha i], iframe[src*=turnstile i], .g-recaptcha, .h-captcha, .cf-turnstile, ' +
      'img[src*=captcha i], img[alt*=captcha i], input[name*=captcha i], input[id*=captcha i]')) return 'captcha';
  const once = /one[- ]?time|\\botp\\b|verification code|authentication code|authenticator|2fa|two[- ]factor/i;
  const texts = (each) => [each.name, each.id, each.placeholder, each.getAttribute('aria-label'),
    ...[...(each.labels || [])].map((label) => label.textContent)].join(' ');
  const fields = [...document.querySelectorAll('input')].filter((each) =>
    ['text', 'tel', 'number', 'password'].includes(each.type) && shown(each));
  return fields.some((each) => each.autocomplete === 'one-time-code' || once.test(texts(each))) ? 'one_time_code' : null;
})()""" % IS_VISIBLE

# Runs in an isolated world, which the page's scripts cannot access.
SECRET_PLACES = """function (secrets) {
  const plain = (text) => (text || '').replace(/\\s+/g, '').toLowerCase();
  const wanted = secrets.map(plain).filter(Boolean);
  const says = (text) => { const all = plain(text); return wanted.some((each) => each.length < 3 ? all === each : all.includes(each)); };
  const all = (root) => [...root.querySelectorAll('*')].flatMap((each) => each.shadowRoot ? [each, ...all(each.shadowRoot)] : [each]);
  const places = [];
  for (const each of all(document)) {
    if (['SCRIPT', 'STYLE', 'HEAD', 'HTML', 'BODY'].includes(each.tagName)) continue;
    const isField = ['INPUT', 'TEXTAREA', 'SELECT'].includes(each.tagName);
    const secret = isField
      ? (each.type === 'password' && each.value) || says(each.value) || says(each.placeholder) ||
        (each.tagName === 'SELECT' && [...each.selectedOptions].some((option) => says(option.text)))
      : says(each.textContent) ? ![...each.children].some((inner) => says(inner.textContent)) : says(each.getAttribute('alt'));
    if (!secret) continue;
    const { x, y, width, height } = each.getBoundingClientRect();
    if (width > 0 && height > 0 && y < innerHeight && y + height > 0) places.push([x, y, width, height].map(Math.round));
  }
  return places;
}"""
COVER = """function (places) {
  const host = document.createElement('div');
  const set = (element, style) => { for (const name in style) element.style.setProperty(name, style[name], 'important'); };
  host.popover = 'manual';
  set(host, { position: 'fixed', inset: '0', width: '100vw', height: '100vh', margin: '0', padding: '0', border: '0',
    background: 'transparent', overflow: 'visible', 'pointer-events': 'none', 'z-index': '2147483647' });
  const root = host.attachShadow({ mode: 'closed' });
  for (const [x, y, width, height] of places) {
    const box = document.createElement('div');
    set(box, { position: 'fixed', left: x - 1 + 'px', top: y - 1 + 'px', width: width + 2 + 'px', height: height + 2 + 'px',
      background: '#333' });
    root.append(box);
  }
  document.documentElement.append(host);
  // Above a dialog that is open.
  try { host.showPopover(); } catch { /* Only below one, then. */ }
  globalThis.cover = host;
}"""
UNCOVER = "function () { globalThis.cover?.remove(); delete globalThis.cover; }"


def describe_page(page, picture):
    """Returns the description of the page. Saves the screenshot at the path `picture`; without a path, takes none."""
    tree, is_cut = describe_tree(page)
    answer = {
        "url": hide(page.get_address())[:2000],
        "title": hide(page.evaluate("document.title") or "")[:300],
        "tree": tree,
        "treeCut": is_cut,
        "hasPasswordField": bool(page.evaluate(PASSWORD_FIELD)),
        "asksFor": page.evaluate(ASKS_FOR),
        "screenshotKey": None,
    }
    if picture:
        fault = take_covered_picture(page, picture)
        if fault:
            answer["screenshotFault"] = hide(fault)
    return answer


def describe_tree(page):
    lines = []
    for path in frame_paths(page):
        try:
            frame = get_frame_id(page, path)
            nodes = page.call("Accessibility.getFullAXTree", {"frameId": frame})["nodes"]
        except BrowserError:
            # The frame was removed a moment ago.
            continue
        if path:
            lines.append([0, "- frame", None])
        lines.extend(list_tree_lines(nodes))
    hide_across_texts(lines)
    text, size = [], 0
    for depth, head, name in lines:
        line = "%s%s%s" % ("  " * min(depth, 12), head, "" if name is None else " " + json.dumps(name, ensure_ascii=False))
        size += len(line) + 1
        if size > MAX_TREE:
            return "\n".join(text), True
        text.append(line)
    return "\n".join(text), False


def get_frame_id(page, path):
    tree = page.call("Page.getFrameTree")["frameTree"]
    for place in path:
        tree = tree["childFrames"][place]
    return tree["frame"]["id"]


def list_tree_lines(nodes):
    """Returns [depth, role, text] of each node that has content."""
    by_id = {node["nodeId"]: node for node in nodes}
    roots = [node for node in nodes if node.get("parentId") not in by_id]
    lines = []
    ahead = [(node, 0, "") for node in reversed(roots)]
    while ahead:
        node, depth, said = ahead.pop()
        role = (node.get("role") or {}).get("value", "")
        name = " ".join(str((node.get("name") or {}).get("value", "")).split())
        is_text = role == "StaticText"
        inner, inner_said = depth, said
        if is_text:
            # A text that is part of the name of the element above is not repeated.
            if name and name not in said:
                lines.append([depth, "- text", hide(name)[:MAX_NAME]])
        elif not node.get("ignored") and role and (role not in UNSAID):
            lines.append([depth, "- " + role, hide(name)[:MAX_NAME] if name else None])
            lines[-1][1:] = add_state(node, *lines[-1][1:])
            inner, inner_said = depth + 1, name or said
        children = [by_id[each] for each in node.get("childIds", []) if each in by_id]
        if role in ("MenuListPopup", "listbox"):
            children = children[:MAX_OPTIONS]
        # Typed text is already shown as the value of the field.
        if not is_text and role not in ("textbox", "searchbox", "spinbutton"):
            ahead.extend((child, inner, inner_said) for child in reversed(children))
    return lines


def add_state(node, head, name):
    parts = []
    value = (node.get("value") or {}).get("value")
    if value not in (None, ""):
        value = " ".join(str(value).split())
        parts.append("value=" + json.dumps(HIDDEN if BULLETS.match(value) else hide(value)[:MAX_NAME], ensure_ascii=False))
    for each in node.get("properties", []):
        held = (each.get("value") or {}).get("value")
        if each["name"] in STATES and held not in (False, "false", None):
            parts.append(each["name"] if held in (True, "true") else "%s=%s" % (each["name"], hide(str(held))[:50]))
    if not parts:
        return head, name
    said = "" if name is None else " " + json.dumps(name, ensure_ascii=False)
    return "%s%s [%s]" % (head, said, ", ".join(parts)), None


def hide_across_texts(lines):
    """Hides a secret that is split over several consecutive texts."""
    texts = [line for line in lines if line[1] == "- text"]
    whole, ends = "", []
    for line in texts:
        whole += "".join(line[2].split())
        ends.append(len(whole))
    for match in HIDING.finditer(whole) if HIDING else ():
        if match.end() - match.start() < 6:
            continue
        start = 0
        for line, end in zip(texts, ends):
            if start < match.end() and end > match.start():
                line[2] = HIDDEN
            start = end


def take_covered_picture(page, path):
    """Takes a screenshot with covered secrets, and repeats it if a secret moved during it. Returns the reason if there
    is none."""
    for _ in range(3):
        frames = frame_paths(page)
        covered = []
        try:
            before = [find_secret_places(page, frame) for frame in frames]
            for frame, places in zip(frames, before):
                if places:
                    call_in_isolated_world(page, frame, COVER, places)
                    covered.append(frame)
            shot = page.call("Page.captureScreenshot", {"format": "jpeg", "quality": 75}, 15)["data"]
            after = [find_secret_places(page, frame) for frame in frame_paths(page)]
        except (BrowserError, TimeoutError, IndexError, KeyError) as error:
            fault = "the screenshot could not be taken: %s" % error
            continue
        finally:
            for frame in covered:
                try:
                    call_in_isolated_world(page, frame, UNCOVER)
                except (BrowserError, TimeoutError, IndexError, KeyError):
                    # The cover was removed together with its page.
                    continue
        if before == after:
            with open(path + ".draft", "wb") as file:
                file.write(base64.b64decode(shot))
            os.rename(path + ".draft", path)
            return None
        fault = "a secret field moved while the screenshot was taken"
        page.browser.rest(0.3)
    return fault


def find_secret_places(page, frame):
    return call_in_isolated_world(page, frame, SECRET_PLACES, list(SECRETS.values()))


def call_in_isolated_world(page, frame, function, *values):
    identity = get_frame_id(page, frame)
    if identity not in page.worlds:
        asked = {"frameId": identity, "worldName": "session"}
        page.worlds[identity] = page.call("Page.createIsolatedWorld", asked)["executionContextId"]
    asked = {"executionContextId": page.worlds[identity], "functionDeclaration": function, "returnByValue": True}
    asked["arguments"] = [{"value": value} for value in values]
    return page.read_answer(page.call("Runtime.callFunctionOn", asked), True)
