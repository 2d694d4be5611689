import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Step } from '../check-steps';
import { canonicalStep } from './canonical-step';
import { describeStep } from './describe-step';

/** Time that a step without a timeout waits for its element or page. */
const defaultTimeoutMs = 30_000;
/** Joins parts of the Python runtime. `play` runs the program, so it must be last. */
export const runtimeOf = (parts: string[]): string =>
  parts.map((name) => readFileSync(join(__dirname, 'runtime', `${name}.py`), 'utf8')).join('\n\n');
const recorded = runtimeOf(['browser', 'page', 'in-page', 'web-socket', 'words', 'play']);
const byHand = runtimeOf(['browser', 'page', 'in-page', 'web-socket', 'by-hand', 'words', 'play']);

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
export const byHandImports = [...imports, 'difflib', 'linecache', 'textwrap'].sort();

interface Flow {
  name: string;
  steps: readonly Step[];
  timeoutMs: number | null;
}

/** Writes a recording as a Python program for a worker, with one step of the run for each recorded step. */
export function writeScript({ name, steps, timeoutMs }: Flow): string {
  return programOf(name, {
    from: 'Written from a recording. A text like {{NAME}} becomes the variable, or the secret, of that name.',
    modules: imports,
    runtime: recorded,
    body: steps.map((step) => withReviewGuard(step, writeStep(step, timeoutMs ?? defaultTimeoutMs))).join('\n'),
  });
}

/** Writes steps of people as such a program. A workflow without a script runs it. */
export function playSteps({ name, steps }: Pick<Flow, 'name' | 'steps'>): string {
  return programOf(name, {
    from: 'Written from the steps of a workflow that has no script.',
    modules: byHandImports,
    runtime: byHand,
    body: steps.map((step) => withReviewGuard(step, writeHandStep(canonicalStep(step), defaultTimeoutMs))).join('\n'),
  });
}

/** Adds lines that stop a run before a step that needs a review, until a person has confirmed the step. */
function withReviewGuard(step: Step, written: string): string {
  return step['review'] === 'needed' ? `${reviewGuardCode(step)}\n${written}` : written;
}

/** Returns the lines that stop the run. confirmStep finds them in stored scripts by their exact text. */
export function reviewGuardCode(step: Step): string {
  const { id, confidence } = step;
  const sure = typeof confidence === 'number' ? ` with a confidence of ${confidence}` : '';
  const message =
    `The step ${String(id)} (${describeStep(step)}) was seen in a film${sure}, and nobody has confirmed it yet: ` +
    `look at it and PATCH /api/workflows/{id}/steps/${String(id)} {"review": "confirmed"}.`;
  return [`    muster.error_code("step_not_confirmed")`, `    raise SystemExit(${python(message)})`].join('\n');
}

interface Program {
  from: string;
  modules: readonly string[];
  runtime: string;
  /** Body of the function run(browser). */
  body: string;
}

export function programOf(name: string, { from, modules, runtime, body }: Program): string {
  return [
    `# ${name.replace(/\s+/g, ' ')}`,
    `# ${from}`,
    ...modules.map((each) => `import ${each}`),
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

/** Types of steps that need no page, so they also run without a browser. */
const withoutPage = ['python', 'wait', 'ask', 'unsupported'];
/** Types of steps that may open another page although the step does not record that. */
export const leading = ['click', 'doubleClick', 'change', 'select', 'press', 'keyDown', 'keyUp'];

function writeHandStep(step: Step, timeoutMs: number): string {
  const type = step['type'] as string;
  const seconds = secondsOf(step, timeoutMs);
  const action = actionByHand(step, seconds === 30 ? undefined : seconds);
  if (withoutPage.includes(type)) {
    const head = call('step', ['browser', python(step['id']), python(describeStep(step)), 'None'], {});
    return [`    with ${head}:`, `        ${action}`].join('\n');
  }
  // eslint-disable-next-line plain/words -- The name of a Python method.
  const settles = leading.includes(type) ? [`        with page.settled(${seconds}):`] : [];
  return [headOf(step, seconds), ...settles, `${' '.repeat(settles.length ? 12 : 8)}${action}`].join('\n');
}

function secondsOf({ timeout }: Step, timeoutMs: number): number {
  return (typeof timeout === 'number' && timeout > 0 ? timeout : timeoutMs) / 1000;
}

function headOf(step: Step, seconds: number): string {
  const { id, target } = step;
  const head = call('step', ['browser', python(id), python(describeStep(step))], {
    target: typeof target === 'string' && target !== 'main' ? target : undefined,
    timeout: seconds === 30 ? undefined : seconds,
  });
  return `    with ${head} as page:`;
}

function writeStep(step: Step, timeoutMs: number): string {
  const { type } = step;
  const seconds = secondsOf(step, timeoutMs);
  const navigates = type !== 'navigate' && type !== 'close' && opensAnotherPage(step);
  const wait = navigates ? [`with page.navigation(${seconds}):`] : [];
  const indent = ' '.repeat(navigates ? 12 : 8);
  return [
    headOf(step, seconds),
    ...wait.map((line) => `        ${line}`),
    `${indent}${actionOf(step, seconds === 30 ? undefined : seconds)}`,
  ].join('\n');
}

function opensAnotherPage({ assertedEvents }: Step): boolean {
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

/** Writes the action of a step that a person wrote. Types of the recorder are written as in a recording. */
export function actionByHand(step: Step, timeout: number | undefined): string {
  const frame = Array.isArray(step['frame']) && step['frame'].length ? step['frame'] : undefined;
  const value = (name: string) => python(step[name]);
  const on = (name: string, args: string[], named: Record<string, unknown> = {}) =>
    call(name, ['page', ...args], { ...named, frame, timeout });
  switch (step['type']) {
    case 'change':
      if (step['value'] === undefined) return 'lacking("value")';
      return on('fill_in', [value('selectors'), value('value')]);
    case 'select':
      if (step['value'] === undefined) return 'lacking("value")';
      return on('choose', [value('selectors'), value('value')]);
    case 'press':
      return on('press', [value('key')], { selectors: step['selectors'] });
    case 'scroll':
      if (!step['selectors'] || step['x'] !== undefined || step['y'] !== undefined) return actionOf(step, timeout);
      return on('scroll_to', [value('selectors')]);
    case 'upload':
      return on('upload', [value('selectors'), value('path')]);
    case 'extract':
      return on(
        step['all'] === true ? 'extract_all' : 'extract',
        [value('selectors'), python(step['as'] ?? step['id'])],
        {
          attribute: step['attribute'],
        },
      );
    case 'screenshot':
      return `take_picture(page, ${python(step['name'] ?? step['id'])})`;
    case 'ask':
      return call('ask_people', ['browser', value('question'), python(step['as'] ?? step['id'])], {
        kind: step['kind'],
        choices: step['choices'],
        fields: step['fields'],
        to: step['to'],
        inbound: step['inbound'],
        timeout: step['waits'],
        default: step['default'],
        context: step['context'],
      });
    case 'wait':
      return `browser.rest(${Number(step['ms']) / 1000})`;
    case 'python':
      return `do_python(browser, ${value('code')}, ${value('id')})`;
    case 'unsupported':
      return `unsupported(${value('unsupportedType')})`;
    default:
      return actionOf(step, timeout);
  }
}

export function call(name: string, args: string[], named: Record<string, unknown>): string {
  const definedArgs = Object.entries(named).filter(([, value]) => value !== undefined);
  return `${name}(${[...args, ...definedArgs.map(([key, value]) => `${key}=${python(value)}`)].join(', ')})`;
}

function unless(value: unknown, usual: unknown): unknown {
  return value === usual ? undefined : value;
}

/** Writes a JSON value as Python. Only true, false and null differ; strings have the same form. */
export function python(value: unknown): string {
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
