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
  const plain = (text) => words(text).toLowerCase().replace(/^[*\\s]+|[:*\\s]+$/g, '');
  const shown = %s;
  try {
    if (selector.startsWith('field/')) {
      const wanted = plain(selector.slice(6));
      if (!wanted) return [];
      const controls = all(root).filter((each) => each.matches('textarea, select, [contenteditable=""], ' +
        '[contenteditable=true], [role=textbox], [role=combobox], [role=searchbox], [role=spinbutton], ' +
        'input:not([type=hidden], [type=submit], [type=button], [type=reset], [type=image])'));
      const said = (label) => {
        const copy = label.cloneNode(true);
        for (const inner of copy.querySelectorAll('input, select, textarea, button')) inner.remove();
        return plain(copy.textContent);
      };
      const byIds = (each) => (each.getAttribute('aria-labelledby') || '').split(/\\s+/).filter(Boolean)
        .map((id) => each.getRootNode().getElementById(id)).filter(Boolean);
      const labels = (each) => [...[...(each.labels || []), ...byIds(each)].map(said),
        plain(each.getAttribute('aria-label'))];
      const ways = [
        (each) => labels(each).includes(wanted),
        (each) => plain(each.getAttribute('name')) === wanted,
        (each) => plain(each.getAttribute('placeholder')) === wanted,
      ];
      const found = ways.map((way) => controls.filter(way)).find((each) => each.length);
      const near = controls.filter((each) => wanted && labels(each).some((label) => label.includes(wanted)));
      // A box to tick is often drawn by its label alone. Part of a label will do where only one has it.
      return (found || (near.length === 1 ? near : [])).flatMap((each) =>
        ['checkbox', 'radio'].includes(each.type) ? [each, ...each.labels] : [each]);
    }
    if (selector.startsWith('says/')) {
      const wanted = plain(selector.slice(5));
      if (!wanted) return [];
      const reads = (each) => plain(each instanceof HTMLInputElement ? each.value
        : each.getAttribute('aria-label') || each.textContent);
      const some = all(root).filter((each) => !['SCRIPT', 'STYLE', 'HEAD', 'TITLE', 'HTML'].includes(each.tagName) &&
        reads(each).includes(wanted));
      const deep = some.filter((each) => !some.some((other) => other !== each && each.contains(other)));
      const act = (each) => each.matches('a, button, summary, label, option, [onclick], [role=button], [role=link], ' +
        '[role=tab], [role=menuitem], [role=option], [role=checkbox], [role=radio], [role=switch], ' +
        'input[type=submit], input[type=button], input[type=reset]');
      const exact = (each) => reads(each) === wanted;
      const ranks = [some.filter((each) => act(each) && exact(each)), deep.filter(exact), some.filter(act), deep];
      return ranks.map((rank) => rank.filter(shown)).find((rank) => rank.length) ||
        ranks.find((rank) => rank.length) || [];
    }
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
}""" % IS_VISIBLE

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
