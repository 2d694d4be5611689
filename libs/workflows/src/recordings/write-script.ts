import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Step } from '../check-steps';
import { canonicalizeStep } from './canonicalize-step';
import { describeStep } from './describe-step';

/** Milliseconds for which a step without a timeout waits for its element or page. */
const defaultTimeoutMs = 30_000;
/** Joins parts of the Python runtime. `play` runs the program, so it must be last. */
export const readPythonRuntime = (parts: string[]): string =>
  parts.map((name) => readFileSync(join(__dirname, 'runtime', `${name}.py`), 'utf8')).join('\n\n');
const recorded = readPythonRuntime(['browser', 'page', 'in-page', 'web-socket', 'words', 'play']);
const byHand = readPythonRuntime(['browser', 'page', 'in-page', 'web-socket', 'by-hand', 'words', 'play']);

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
  return writeProgram(name, {
    from: 'Written from a recording. {{NAME}} is replaced by the variable or the secret with this name.',
    modules: imports,
    runtime: recorded,
    body: steps.map((step) => addReviewGuard(step, writeRecordedStep(step, timeoutMs ?? defaultTimeoutMs))).join('\n'),
  });
}

/** Writes steps that people wrote as a Python program, which runs if the workflow has no script. */
export function writePlayFunction({ name, steps }: Pick<Flow, 'name' | 'steps'>): string {
  return writeProgram(name, {
    from: 'Written from the steps of a workflow that has no script.',
    modules: byHandImports,
    runtime: byHand,
    body: steps
      .map((step) => addReviewGuard(step, writeManualStep(canonicalizeStep(step), defaultTimeoutMs)))
      .join('\n'),
  });
}

/** Adds lines that stop a run before a step that needs a review, until a person has confirmed the step. */
function addReviewGuard(step: Step, written: string): string {
  return step['review'] === 'needed' ? `${writeReviewGuard(step)}\n${written}` : written;
}

/** Returns the lines that stop the run. markStepReviewed finds them in stored scripts by their exact text. */
export function writeReviewGuard(step: Step): string {
  const { id, confidence } = step;
  const sure = typeof confidence === 'number' ? ` with a confidence of ${confidence}` : '';
  const message =
    `The step ${String(id)} (${describeStep(step)}) was seen in a film${sure}, and nobody has confirmed it yet: ` +
    `look at it and PATCH /api/workflows/{id}/steps/${String(id)} {"review": "confirmed"}.`;
  return [`    muster.error_code("step_not_confirmed")`, `    raise SystemExit(${formatPythonLiteral(message)})`].join(
    '\n',
  );
}

interface Program {
  from: string;
  modules: readonly string[];
  runtime: string;
  /** Body of the Python function run(browser). */
  body: string;
}

export function writeProgram(name: string, { from, modules, runtime, body }: Program): string {
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

function writeManualStep(step: Step, timeoutMs: number): string {
  const type = step['type'] as string;
  const seconds = getTimeoutSeconds(step, timeoutMs);
  const action = writeManualAction(step, seconds === 30 ? undefined : seconds);
  if (withoutPage.includes(type)) {
    const head = formatPythonCall(
      'step',
      ['browser', formatPythonLiteral(step['id']), formatPythonLiteral(describeStep(step)), 'None'],
      {},
    );
    return [`    with ${head}:`, `        ${action}`].join('\n');
  }
  // eslint-disable-next-line plain/words -- The name of a Python method.
  const settles = leading.includes(type) ? [`        with page.settled(${seconds}):`] : [];
  return [writeStepHeader(step, seconds), ...settles, `${' '.repeat(settles.length ? 12 : 8)}${action}`].join('\n');
}

function getTimeoutSeconds({ timeout }: Step, timeoutMs: number): number {
  return (typeof timeout === 'number' && timeout > 0 ? timeout : timeoutMs) / 1000;
}

function writeStepHeader(step: Step, seconds: number): string {
  const { id, target } = step;
  const head = formatPythonCall('step', ['browser', formatPythonLiteral(id), formatPythonLiteral(describeStep(step))], {
    target: typeof target === 'string' && target !== 'main' ? target : undefined,
    timeout: seconds === 30 ? undefined : seconds,
  });
  return `    with ${head} as page:`;
}

function writeRecordedStep(step: Step, timeoutMs: number): string {
  const { type } = step;
  const seconds = getTimeoutSeconds(step, timeoutMs);
  const navigates = type !== 'navigate' && type !== 'close' && stepOpensNewPage(step);
  const wait = navigates ? [`with page.navigation(${seconds}):`] : [];
  const indent = ' '.repeat(navigates ? 12 : 8);
  return [
    writeStepHeader(step, seconds),
    ...wait.map((line) => `        ${line}`),
    `${indent}${writeRecordedAction(step, seconds === 30 ? undefined : seconds)}`,
  ].join('\n');
}

function stepOpensNewPage({ assertedEvents }: Step): boolean {
  return Array.isArray(assertedEvents) && assertedEvents.some(({ type }: Step) => type === 'navigation');
}

const buttons: Record<string, string> = { auxiliary: 'middle', secondary: 'right', back: 'back', forward: 'forward' };

function writeRecordedAction(step: Step, timeout: number | undefined): string {
  const frame = Array.isArray(step['frame']) && step['frame'].length ? step['frame'] : undefined;
  const inFrame = { frame, timeout };
  const selectors = formatPythonLiteral(step['selectors']);
  const pythonField = (name: string) => formatPythonLiteral(step[name]);
  const callPage = (name: string, args: string[], named: Record<string, unknown> = {}) =>
    formatPythonCall(`page.${name}`, args, named);
  switch (step['type']) {
    case 'setViewport':
      return callPage('set_viewport', [pythonField('width'), pythonField('height')], {
        scale: omitIfDefault(step['deviceScaleFactor'], 1),
        mobile: step['isMobile'] || undefined,
        touch: step['hasTouch'] || undefined,
        landscape: step['isLandscape'] || undefined,
      });
    case 'emulateNetworkConditions':
      return callPage('emulate_network', [pythonField('download'), pythonField('upload'), pythonField('latency')]);
    case 'navigate':
      return callPage('navigate', [pythonField('url')], { timeout });
    case 'click':
    case 'doubleClick':
      return callPage('click', [selectors], {
        x: step['offsetX'],
        y: step['offsetY'],
        button: buttons[step['button'] as string],
        count: step['type'] === 'doubleClick' ? 2 : undefined,
        hold: typeof step['duration'] === 'number' ? Math.min(step['duration'], 10_000) / 1000 : undefined,
        touch: step['deviceType'] === 'touch' || undefined,
        ...inFrame,
      });
    case 'hover':
      return callPage('hover', [selectors], inFrame);
    case 'change':
      return callPage('change', [selectors, pythonField('value')], inFrame);
    case 'keyDown':
      return callPage('key_down', [pythonField('key')]);
    case 'keyUp':
      return callPage('key_up', [pythonField('key')]);
    case 'scroll':
      return callPage('scroll', [], {
        x: step['x'],
        y: step['y'],
        selectors: step['selectors'],
        ...(step['selectors'] ? inFrame : { frame }),
      });
    case 'waitForElement':
      return callPage('wait_for_element', [selectors], {
        operator: omitIfDefault(step['operator'], '>='),
        count: omitIfDefault(step['count'], 1),
        visible: omitIfDefault(step['visible'], true),
        attributes: step['attributes'],
        properties: step['properties'],
        ...inFrame,
      });
    case 'waitForExpression':
      return callPage('wait_for_expression', [pythonField('expression')], inFrame);
    case 'close':
      return callPage('close', []);
    case 'customStep':
      return `custom(${pythonField('name')}, ${pythonField('parameters')})`;
    default:
      throw new Error(`the recorder has no step type ${String(step['type'])}`);
  }
}

/** Writes the action of a step that a person wrote. Types of the recorder are written as in a recording. */
export function writeManualAction(step: Step, timeout: number | undefined): string {
  const frame = Array.isArray(step['frame']) && step['frame'].length ? step['frame'] : undefined;
  const pythonField = (name: string) => formatPythonLiteral(step[name]);
  const callPage = (name: string, args: string[], named: Record<string, unknown> = {}) =>
    formatPythonCall(name, ['page', ...args], { ...named, frame, timeout });
  switch (step['type']) {
    case 'change':
      if (step['value'] === undefined) return 'raise_missing_field("value")';
      return callPage('fill_in', [pythonField('selectors'), pythonField('value')]);
    case 'select':
      if (step['value'] === undefined) return 'raise_missing_field("value")';
      return callPage('choose', [pythonField('selectors'), pythonField('value')]);
    case 'press':
      return callPage('press', [pythonField('key')], { selectors: step['selectors'] });
    case 'scroll':
      if (!step['selectors'] || step['x'] !== undefined || step['y'] !== undefined)
        return writeRecordedAction(step, timeout);
      return callPage('scroll_to', [pythonField('selectors')]);
    case 'upload':
      return callPage('upload', [pythonField('selectors'), pythonField('path')]);
    case 'extract':
      return callPage(
        step['all'] === true ? 'extract_all' : 'extract',
        [pythonField('selectors'), formatPythonLiteral(step['as'] ?? step['id'])],
        {
          attribute: step['attribute'],
        },
      );
    case 'screenshot':
      return `take_picture(page, ${formatPythonLiteral(step['name'] ?? step['id'])})`;
    case 'ask':
      return formatPythonCall(
        'ask_people',
        ['browser', pythonField('question'), formatPythonLiteral(step['as'] ?? step['id'])],
        {
          kind: step['kind'],
          choices: step['choices'],
          fields: step['fields'],
          to: step['to'],
          inbound: step['inbound'],
          takeover: step['takeover'] === true ? true : undefined,
          timeout: step['waits'],
          default: step['default'],
          context: step['context'],
        },
      );
    case 'wait':
      return `browser.rest(${Number(step['ms']) / 1000})`;
    case 'python':
      return `do_python(browser, ${pythonField('code')}, ${pythonField('id')})`;
    case 'unsupported':
      return `raise_unsupported(${pythonField('unsupportedType')})`;
    default:
      return writeRecordedAction(step, timeout);
  }
}

export function formatPythonCall(name: string, args: string[], named: Record<string, unknown>): string {
  const definedArgs = Object.entries(named).filter(([, value]) => value !== undefined);
  return `${name}(${[...args, ...definedArgs.map(([key, value]) => `${key}=${formatPythonLiteral(value)}`)].join(', ')})`;
}

function omitIfDefault(value: unknown, usual: unknown): unknown {
  return value === usual ? undefined : value;
}

/** Writes a JSON value as Python. Only true, false and null differ; strings have the same form. */
export function formatPythonLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(formatPythonLiteral).join(', ')}]`;
  if (typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([key, inner]) => `${JSON.stringify(key)}: ${formatPythonLiteral(inner)}`)
      .join(', ')}}`;
  }
  return JSON.stringify(value);
}
