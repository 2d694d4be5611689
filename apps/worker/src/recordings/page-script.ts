/**
 * Returns a script that watches a page while a person works in it. It runs in an isolated world that the page does not
 * see. Through the binding it reports clicks, input and keys, each with several selectors of the element. Selectors
 * that currently match another element are left out.
 */
export function buildPageScript(binding: string): string {
  return `(() => {
  const report = globalThis[${JSON.stringify(binding)}];
  if (!report || globalThis.watched) return;
  globalThis.watched = true;
${pageSource}
})()`;
}

const pageSource = String.raw`
  const words = (text) => (text || '').replace(/\s+/g, ' ').trim();
  const tagOf = (element) => element.localName;

  const framePath = () => {
    const path = [];
    for (let at = window; at !== at.parent; at = at.parent) {
      for (let n = 0; n < at.parent.frames.length; n += 1) if (at.parent.frames[n] === at) path.unshift(n);
    }
    return path;
  };
  const say = (kind, more) => {
    const frame = framePath();
    report(JSON.stringify({ kind, ...(frame.length ? { frame } : {}), ...more }));
  };

  // The following functions find selectors of an element.

  const only = (root, selector, element) => {
    try {
      const found = root.querySelectorAll(selector);
      return found.length === 1 && found[0] === element;
    } catch {
      return false;
    }
  };
  const isMade = (id) => /\d{3,}|[0-9a-f]{8,}|^:|^(react|radix|ember|mui|headlessui)/i.test(id);
  const stableOf = (element) => {
    const root = element.getRootNode();
    for (const name of ['data-testid', 'data-test', 'data-qa', 'data-cy', 'id', 'name']) {
      const value = element.getAttribute(name);
      if (!value || (name === 'id' && isMade(value))) continue;
      const selector = name === 'id' ? '#' + CSS.escape(value) : tagOf(element) + '[' + name + '=' + JSON.stringify(value) + ']';
      if (only(root, selector, element)) return selector;
    }
    return null;
  };
  const placeOf = (element) => {
    const root = element.getRootNode();
    let path = '';
    for (let at = element; at; at = at.parentElement) {
      const anchor = at === element ? null : stableOf(at);
      if (anchor && only(root, anchor + ' > ' + path, element)) return anchor + ' > ' + path;
      const twins = at.parentNode ? [...at.parentNode.children].filter((each) => each.localName === at.localName) : [at];
      const part = CSS.escape(tagOf(at)) + (twins.length > 1 ? ':nth-of-type(' + (twins.indexOf(at) + 1) + ')' : '');
      path = path ? part + ' > ' + path : part;
      if (only(root, path, element)) return path;
    }
    return path;
  };
  /** Selectors of the shadow hosts from the outermost one, and of the element. */
  const through = (element, last) => {
    const parts = [last];
    for (let root = element.getRootNode(); root instanceof ShadowRoot; root = root.host.getRootNode()) {
      parts.unshift(stableOf(root.host) || placeOf(root.host));
    }
    return parts;
  };
  const xpathOf = (element) => {
    const parts = [];
    for (let at = element; at && at.nodeType === 1; at = at.parentElement) {
      const id = at.getAttribute('id');
      if (id && !isMade(id) && !id.includes('"') && only(document, '#' + CSS.escape(id), at)) {
        return 'xpath///*[@id="' + id + '"]' + parts.join('');
      }
      const twins = at.parentNode ? [...at.parentNode.children].filter((each) => each.localName === at.localName) : [at];
      parts.unshift('/' + tagOf(at) + (twins.length > 1 ? '[' + (twins.indexOf(at) + 1) + ']' : ''));
    }
    return 'xpath/' + parts.join('');
  };
  const roleOf = (element) => {
    const given = element.getAttribute('role');
    if (given) return given;
    const { type } = element;
    switch (tagOf(element)) {
      case 'button': case 'summary': return 'button';
      case 'a': return element.hasAttribute('href') ? 'link' : null;
      case 'textarea': return 'textbox';
      case 'select': return element.multiple || element.size > 1 ? 'listbox' : 'combobox';
      case 'input':
        if (['submit', 'button', 'reset', 'image'].includes(type)) return 'button';
        if (['checkbox', 'radio'].includes(type)) return type;
        return ['text', 'email', 'tel', 'url'].includes(type) && !element.hasAttribute('list') ? 'textbox' : null;
      default: return null;
    }
  };
  const nameOf = (element) => {
    const byIds = (element.getAttribute('aria-labelledby') || '').split(/\s+/).filter(Boolean)
      .map((id) => words(element.getRootNode().getElementById(id)?.textContent)).join(' ');
    const labels = [...(element.labels || [])].map((label) =>
      words([...label.childNodes].filter((node) => !node.contains(element)).map((node) => node.textContent).join(' ')));
    const isInput = tagOf(element) === 'input';
    const own = isInput ? (['submit', 'button', 'reset'].includes(element.type) ? element.value : '')
      : ['button', 'a', 'summary'].includes(tagOf(element)) || element.hasAttribute('role') ? element.textContent : '';
    return words(byIds || element.getAttribute('aria-label') || labels.join(' ') || own || element.getAttribute('alt') ||
      element.getAttribute('title') || element.getAttribute('placeholder'));
  };
  const namedOf = (element) => {
    const [name, role] = [nameOf(element), roleOf(element)];
    if (!name || !role || name.length > 80 || /[[\]"']/.test(name)) return null;
    const others = document.querySelectorAll('button,a,input,select,textarea,summary,[role]');
    const same = [...others].filter((each) => roleOf(each) === role && nameOf(each) === name);
    return same.length === 1 && same[0] === element ? 'aria/' + name + '[role="' + role + '"]' : null;
  };
  const isSeen = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0;
  };
  const textOf = (element) => {
    if (['input', 'select', 'textarea'].includes(tagOf(element)) || element.isContentEditable) return null;
    const wanted = words(element.textContent);
    if (!wanted || wanted.length > 60) return null;
    const has = (each) => !['SCRIPT', 'STYLE', 'HEAD', 'TITLE', 'HTML'].includes(each.tagName) &&
      words(each instanceof HTMLInputElement ? each.value : each.textContent).includes(wanted);
    const found = [...document.querySelectorAll('*')].filter((each) => has(each) && ![...each.children].some(has));
    const first = found.find(isSeen);
    return first && found.filter(isSeen).length === 1 && element.contains(first) ? 'text/' + wanted : null;
  };
  const selectorsOf = (element) => {
    const stable = stableOf(element);
    const isOpen = element.getRootNode() === document;
    const place = placeOf(element);
    const all = [
      stable && through(element, stable),
      isOpen && namedOf(element) && [namedOf(element)],
      isOpen && textOf(element) && [textOf(element)],
      place !== stable && through(element, place),
      isOpen && [xpathOf(element)],
    ];
    return all.filter(Boolean);
  };

  // Actions of the person.

  const target = (event) => event.composedPath().find((each) => each instanceof Element);
  const typed = ['text', 'url', 'tel', 'search', 'password', 'number', 'email'];
  const isTyped = (element) => element.isContentEditable || tagOf(element) === 'textarea' ||
    (tagOf(element) === 'input' && typed.includes(element.type));
  const passwords = new WeakSet();
  /** A password field stays one even if a button shows its text. */
  const isPassword = (element) => {
    if (element.type === 'password' || /(current|new)-password/.test(element.getAttribute('autocomplete') || '')) {
      passwords.add(element);
    }
    return passwords.has(element);
  };
  const actors = 'button,a,label,summary,input,textarea,[role=button],[role=link],[role=tab],[role=option],' +
    '[role=menuitem],[role=checkbox],[role=radio],[role=switch]';

  let pressed = false;
  let moved = 0;
  const on = (name, take) => window.addEventListener(name, (event) => { if (event.isTrusted) take(event); }, true);
  const clicked = (kind, event) => {
    const element = target(event);
    if (!element || ['select', 'option', 'html'].includes(tagOf(element)) || element.type === 'file') return;
    const actor = element.closest(actors) || element;
    const box = actor.getBoundingClientRect();
    const near = (number) => Math.round(Math.max(0, number) * 100) / 100;
    say(kind, {
      selectors: selectorsOf(actor),
      offsetX: near(event.clientX - box.left),
      offsetY: near(event.clientY - box.top),
      ...(event.button ? { button: ['primary', 'auxiliary', 'secondary', 'back', 'forward'][event.button] } : {}),
    });
  };
  on('mousedown', (event) => {
    pressed = true;
    const { clientWidth, clientHeight } = target(event) || {};
    // The mouse button was pressed on a scroll bar, which is not an action on the page.
    if (clientWidth && (event.offsetX > clientWidth || event.offsetY > clientHeight)) moved = Date.now();
  });
  // A key or a label causes a click too, and playing its step causes that click again.
  on('click', (event) => { if (pressed && event.detail > 0) clicked('click', event); pressed = false; });
  on('auxclick', (event) => clicked('click', event));
  on('dblclick', (event) => clicked('doubleClick', event));

  const changed = (element, value) => say('change', {
    selectors: selectorsOf(element),
    ...(isPassword(element) ? { secret: value } : { value }),
  });
  on('focusin', (event) => { const element = target(event); if (element) isPassword(element); });
  on('input', (event) => {
    const element = target(event);
    if (!element || !isTyped(element)) return;
    if (!element.isContentEditable) return changed(element, element.value);
    let host = element;
    while (host.parentElement && host.parentElement.isContentEditable) host = host.parentElement;
    changed(host, host.innerText);
  });
  on('change', (event) => {
    const element = target(event);
    if (!element || isTyped(element) || ['checkbox', 'radio'].includes(element.type)) return;
    if (element.type === 'file') return changed(element, [...element.files].map((file) => file.name)[0] || '');
    if (['input', 'select'].includes(tagOf(element))) changed(element, element.value);
  });

  const modifiers = ['Control', 'Shift', 'Alt', 'Meta'];
  on('keydown', (event) => {
    const { key } = event;
    const element = target(event);
    if (/^(Page|Arrow|Home$|End$| $)/.test(key)) moved = Date.now();
    if (event.isComposing || modifiers.includes(key) || ['Dead', 'Process', 'Unidentified', 'AltGraph'].includes(key)) return;
    const held = modifiers.filter((name) => event.getModifierState(name) && (name !== 'Shift' || key.length > 1));
    if (element && isTyped(element)) {
      const isLong = tagOf(element) === 'textarea' || element.isContentEditable;
      const leads = ['Tab', 'Escape', ...(isLong ? [] : ['Enter']), ...(isLong || isPassword(element) ? [] : ['ArrowUp', 'ArrowDown'])];
      if (!leads.includes(key) && !(isLong && key === 'Enter' && held.length) && !/^F\d+$/.test(key)) return;
    }
    // A click in a list of choices is ignored, because the change event reports the choice.
    if (element && tagOf(element) === 'select' && !['Tab', 'Escape'].includes(key)) return;
    say('key', { key, held });
  });

  const scrolling = new Map();
  for (const name of ['wheel', 'touchmove']) on(name, () => { moved = Date.now(); });
  on('scroll', ({ target: where }) => {
    // Pages also scroll automatically, and do so again when the steps are played.
    if (Date.now() - moved > 1000) return;
    clearTimeout(scrolling.get(where));
    scrolling.set(where, setTimeout(() => {
      scrolling.delete(where);
      if (where === document) say('scroll', { x: Math.round(scrollX), y: Math.round(scrollY) });
      else if (where.isConnected) {
        say('scroll', { selectors: selectorsOf(where), x: Math.round(where.scrollLeft), y: Math.round(where.scrollTop) });
      }
    }, 150));
  });
`;
