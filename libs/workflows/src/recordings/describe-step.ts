import type { Step } from '../check-steps';

const maxNameLength = 120;
const maxSelectorLength = 500;

/** Describes a step for people. Typed text is left out, because it may be private. */
export function describeStep(step: Step): string {
  const { type, title, url, key, expression, name } = step;
  const element = describeStepElement(step);
  const descriptions: Record<string, string> = {
    setViewport: `Set the window to ${String(step['width'])} × ${String(step['height'])}`,
    emulateNetworkConditions: 'Emulate the network',
    navigate: `Open ${removeUrlQuery(String(url))}`,
    click: `Click ${element}`,
    doubleClick: `Double-click ${element}`,
    hover: `Point at ${element}`,
    change: `Fill in ${element}`,
    select: `Choose in ${element}`,
    upload: `Upload to ${element}`,
    extract: `Read ${element}`,
    press: `Press ${String(key)}`,
    wait: `Wait ${Number(step['ms']) / 1000} s`,
    screenshot: 'Take a screenshot',
    python: 'Run Python',
    ask: `Ask ${String(step['question'])}`,
    unsupported: `A step of the type ${String(step['unsupportedType'])}`,
    keyDown: `Press ${String(key)}`,
    keyUp: `Release ${String(key)}`,
    scroll: step['selectors'] ? `Scroll ${element}` : 'Scroll the page',
    waitForElement: `Wait for ${element}`,
    waitForExpression: `Wait until ${String(expression)}`,
    close: 'Close the tab',
    customStep: `Custom step ${String(name)}`,
  };
  const ownTitle = [title, type === 'customStep' ? undefined : name].find(
    (each) => typeof each === 'string' && each.trim(),
  );
  const text = (ownTitle as string | undefined)?.trim() || descriptions[type as string]!;
  const line = text.replace(/\s+/g, ' ');
  return line.length > maxNameLength ? `${line.slice(0, maxNameLength - 1)}…` : line;
}

function removeUrlQuery(url: string): string {
  return url.replace(/[?#].*$/s, '');
}

/** Returns the most readable selector of a step's element. */
function describeStepElement({ selectors }: Step): string {
  const all = ((selectors ?? []) as (string | string[])[]).map((each) =>
    // A very long selector is cut, because its beginning is sufficient for a description.
    (Array.isArray(each) ? each.at(-1)! : each).slice(0, maxSelectorLength),
  );
  const byName = all.find((each) => /^(field|says)\//.test(each));
  if (byName) return `“${byName.replace(/^\w+\//, '')}”`;
  const named = all.find((each) => each.startsWith('aria/'))?.replace(/\[\s*(role|name)\s*=[^\]]*\]/g, '');
  const text = (named ?? all.find((each) => each.startsWith('text/')))?.replace(/^(aria|text)\//, '').trim();
  return text ? `“${text}”` : (all[0] ?? '');
}
