import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Step } from '../check-steps';

/** What a step waits for its element or page, where nobody says. */
const defaultTimeoutMs = 30_000;
/** What it is made of; the last one plays. */
const runtime = ['browser', 'page', 'in-page', 'web-socket', 'play']
  .map((name) => readFileSync(join(__dirname, 'runtime', `${name}.py`), 'utf8'))
  .join('\n\n');

const imports = [
  'base64',
  'contextlib',
  'json',
  'os',
  're',
  'select',
  'shutil',
  'socket',
  'struct',
  'subprocess',
  'sys',
  'tempfile',
  'time',
];

/** The recording as a Python program that runs on a worker: one step of the run for each that was recorded. */
export function writeScript({
  name,
  steps,
  timeoutMs,
}: {
  name: string;
  steps: readonly Step[];
  timeoutMs: number | null;
}): string {
  const body = steps.map((step) => writeStep(step, timeoutMs ?? defaultTimeoutMs)).join('\n');
  return [
    `# ${name.replace(/\s+/g, ' ')}`,
    '# Written from a recording. A text like {{NAME}} becomes the variable, or the secret, of that name.',
    ...imports.map((each) => `import ${each}`),
    '',
    'import muster',
    '',
    '',
    'def run(browser):',
    body,
    '',
    runtime,
  ].join('\n');
}

function writeStep(step: Step, timeoutMs: number): string {
  const { id, type, target, timeout } = step;
  const seconds = ((typeof timeout === 'number' && timeout > 0 ? timeout : timeoutMs) as number) / 1000;
  const head = call('step', ['browser', python(id), python(describeStep(step))], {
    target: typeof target === 'string' && target !== 'main' ? target : undefined,
    timeout: seconds === 30 ? undefined : seconds,
  });
  const navigates = type !== 'navigate' && type !== 'close' && leadsElsewhere(step);
  const wait = navigates ? [`with page.navigation(${seconds}):`] : [];
  const indent = ' '.repeat(navigates ? 12 : 8);
  return [
    `    with ${head} as page:`,
    ...wait.map((line) => `        ${line}`),
    `${indent}${actionOf(step, seconds === 30 ? undefined : seconds)}`,
  ].join('\n');
}

function leadsElsewhere({ assertedEvents }: Step): boolean {
  return Array.isArray(assertedEvents) && assertedEvents.some(({ type }: Step) => type === 'navigation');
}

const buttons: Record<string, string> = { auxiliary: 'middle', secondary: 'right', back: 'back', forward: 'forward' };

function actionOf(step: Step, timeout: number | undefined): string {
  const frame = Array.isArray(step['frame']) && step['frame'].length ? step['frame'] : undefined;
  const inFrame = { frame, timeout };
  const selectors = python(step['selectors']);
  const value = (name: string) => python(step[name]);
  const on = (name: string, args: string[], named: Record<string, unknown> = {}) => call(`page.${name}`, args, named);
  switch (step['type']) {
    case 'setViewport':
      return on('set_viewport', [value('width'), value('height')], {
        scale: unless(step['deviceScaleFactor'], 1),
        mobile: step['isMobile'] || undefined,
        touch: step['hasTouch'] || undefined,
        landscape: step['isLandscape'] || undefined,
      });
    case 'emulateNetworkConditions':
      return on('emulate_network', [value('download'), value('upload'), value('latency')]);
    case 'navigate':
      return on('navigate', [value('url')], { timeout });
    case 'click':
    case 'doubleClick':
      return on('click', [selectors], {
        x: step['offsetX'],
        y: step['offsetY'],
        button: buttons[step['button'] as string],
        count: step['type'] === 'doubleClick' ? 2 : undefined,
        hold: typeof step['duration'] === 'number' ? Math.min(step['duration'], 10_000) / 1000 : undefined,
        touch: step['deviceType'] === 'touch' || undefined,
        ...inFrame,
      });
    case 'hover':
      return on('hover', [selectors], inFrame);
    case 'change':
      return on('change', [selectors, value('value')], inFrame);
    case 'keyDown':
      return on('key_down', [value('key')]);
    case 'keyUp':
      return on('key_up', [value('key')]);
    case 'scroll':
      return on('scroll', [], {
        x: step['x'],
        y: step['y'],
        selectors: step['selectors'],
        ...(step['selectors'] ? inFrame : { frame }),
      });
    case 'waitForElement':
      return on('wait_for_element', [selectors], {
        operator: unless(step['operator'], '>='),
        count: unless(step['count'], 1),
        visible: unless(step['visible'], true),
        attributes: step['attributes'],
        properties: step['properties'],
        ...inFrame,
      });
    case 'waitForExpression':
      return on('wait_for_expression', [value('expression')], inFrame);
    case 'close':
      return on('close', []);
    case 'customStep':
      return `custom(${value('name')}, ${value('parameters')})`;
    default:
      throw new Error(`the recorder has no step type ${String(step['type'])}`);
  }
}

function call(name: string, args: string[], named: Record<string, unknown>): string {
  const given = Object.entries(named).filter(([, value]) => value !== undefined);
  return `${name}(${[...args, ...given.map(([key, value]) => `${key}=${python(value)}`)].join(', ')})`;
}

function unless(value: unknown, usual: unknown): unknown {
  return value === usual ? undefined : value;
}

const maxNameLength = 120;

/** For people, without what is typed: that may be private. */
function describeStep(step: Step): string {
  const { type, title, url, key, expression, name } = step;
  const what = whatOf(step);
  const words: Record<string, string> = {
    setViewport: `Set the window to ${String(step['width'])} × ${String(step['height'])}`,
    emulateNetworkConditions: 'Emulate the network',
    navigate: `Open ${withoutQuery(String(url))}`,
    click: `Click ${what}`,
    doubleClick: `Double-click ${what}`,
    hover: `Point at ${what}`,
    change: `Fill in ${what}`,
    keyDown: `Press ${String(key)}`,
    keyUp: `Release ${String(key)}`,
    scroll: step['selectors'] ? `Scroll ${what}` : 'Scroll the page',
    waitForElement: `Wait for ${what}`,
    waitForExpression: `Wait until ${String(expression)}`,
    close: 'Close the tab',
    customStep: `Custom step ${String(name)}`,
  };
  const text = (typeof title === 'string' && title.trim()) || words[type as string]!;
  const line = text.replace(/\s+/g, ' ');
  return line.length > maxNameLength ? `${line.slice(0, maxNameLength - 1)}…` : line;
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '');
}

/** The selector that reads best. */
function whatOf({ selectors }: Step): string {
  const all = ((selectors ?? []) as (string | string[])[]).map((each) => (Array.isArray(each) ? each.at(-1)! : each));
  const named = all.find((each) => each.startsWith('aria/'))?.replace(/\[\s*(role|name)\s*=[^\]]*\]/g, '');
  const text = (named ?? all.find((each) => each.startsWith('text/')))?.replace(/^(aria|text)\//, '').trim();
  return text ? `“${text}”` : (all[0] ?? '');
}

/** A JSON value as Python writes it. JSON's texts are Python's, but for the words. */
function python(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(python).join(', ')}]`;
  if (typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([key, inner]) => `${JSON.stringify(key)}: ${python(inner)}`)
      .join(', ')}}`;
  }
  return JSON.stringify(value);
}
