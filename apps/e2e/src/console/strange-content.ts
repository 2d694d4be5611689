import type { ConsoleTab } from './console-browser';

/** A text that a model, a script or a file share may contain: markup, right-to-left text, emoji, and great length. */
export const hostileText = `<img src=x onerror="document.title='broken'"><b>bold</b> \u202Eשלום עולם\u202C 🦷👩‍⚕️ ${'x'.repeat(10_000)} the end`;
/** A similar file name: shorter, and without characters that a file name cannot contain. */
export const hostileName = '<b onclick=alert(1)>שן 🦷 & "x".dex';

/** Whether an image has loaded. */
export const isImageLoaded = (image: any): boolean => image.complete && image.naturalWidth > 0;

/** A name with markup, template expressions, a character that reverses the text direction, and a long word. */
export const makeHostileText = (kind: string) =>
  `${kind}<img src=x onerror=window.ran=1>{{1337*1337}}\${1337*1337}\u202Egpj.${'W'.repeat(40)}`.slice(0, 100);

/** Returns the page's faults: markup that ran, overflow, and text whose direction a name has reversed. */
export const findDisplayFaults = ({ page }: ConsoleTab): Promise<string[]> =>
  page.evaluate(() => {
    const { document, getComputedStyle } = globalThis as any;
    const faults: string[] = [];
    if ((globalThis as any).ran) faults.push('a script ran');
    if (document.querySelector('img[src="x"]')) faults.push('a name became an element');
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth > clientWidth) faults.push(`the page is ${scrollWidth - clientWidth} px wider than the window`);
    const walker = document.createTreeWalker(document.body, 4);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.textContent as string;
      if (/1787569/.test(text)) faults.push(`a template was filled in: ${text.slice(0, 60)}`);
      if (
        !text.includes('\u202e') ||
        node.parentElement.closest('textarea, pre, script, .cm-editor, option, title, [role=log]')
      )
        continue;
      // The nearest element that limits the text direction: isolated, or a block. Nothing may follow the name in it.
      let at = node.parentElement;
      const countIsolates = () => /isolate|plaintext/.test(getComputedStyle(at).unicodeBidi);
      while (!countIsolates() && /^(inline|contents)$/.test(getComputedStyle(at).display)) at = at.parentElement;
      const range = document.createRange();
      range.setStart(node, text.indexOf('\u202e'));
      range.setEndAfter(at.lastChild);
      const [line] = /^pre/.test(getComputedStyle(at).whiteSpace) ? range.toString().split('\n') : [range.toString()];
      if (!/^\u202eg?p?j?\.?W*…?\s*$/.test(line)) {
        faults.push(`the text after a name is reversed: ${at.textContent.slice(0, 60)} … ${range.toString()}`);
      }
    }
    return [...new Set(faults)];
  });
