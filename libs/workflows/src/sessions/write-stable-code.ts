import type { PageExpectation } from '@muster/contracts';
import type { Step } from '../check-steps';
import {
  writeManualAction,
  byHandImports,
  formatPythonCall,
  leading,
  writeProgram,
  formatPythonLiteral,
  readPythonRuntime,
} from '../recordings/write-script';

const learned = readPythonRuntime(['browser', 'page', 'in-page', 'web-socket', 'by-hand', 'words', 'expect', 'play']);

/** Writes the executed actions of an attempt as Python statements that use `page` of the recordings' runtime. */
export function writeStableCode(steps: readonly Step[]): string {
  let tab: unknown;
  return steps
    .flatMap((step) => {
      const { target } = step;
      const isElsewhere = target !== tab;
      tab = target;
      const action = writeManualAction(step, undefined);
      return [
        ...(isElsewhere ? [`page = browser.page(${target === undefined ? '' : formatPythonLiteral(target)})`] : []),
        ...(step['submits'] === true ? ['submits(page)'] : []),
        // eslint-disable-next-line plain/words -- The name of a Python method.
        ...(leading.includes(step['type'] as string) ? ['with page.settled():', `    ${action}`] : [action]),
      ];
    })
    .join('\n');
}

export interface LearnedStep {
  id: string;
  title: string;
  /** Python code of the step; null if a person performed the step, so that there is no code. */
  code: string | null;
  expect?: PageExpectation | null;
}

/** Writes the script of a workflow that repeats what a session has learned, without a model. */
export function writeLearnedScript({ name, startUrl, steps }: LearnedFlow): string {
  const opening = startUrl
    ? [
        `    with step(browser, "open", "Open the start page") as page:`,
        `        page.navigate(${formatPythonLiteral(startUrl)})`,
      ]
    : [];
  return writeProgram(name, {
    from: 'Written from an autopilot session. {{NAME}} is replaced by the variable or the secret with this name.',
    modules: byHandImports,
    runtime: learned,
    body: [...opening, ...steps.flatMap(writeStepLines)].join('\n') || '    pass',
  });
}

interface LearnedFlow {
  name: string;
  startUrl?: string | null;
  steps: readonly LearnedStep[];
}

function writeStepLines({ id, title, code, expect }: LearnedStep): string[] {
  const done =
    code === null
      ? [
          `raise NotImplementedError(${formatPythonLiteral(`the step ${title} was done by a person in its session, so there is no code for it yet`)})`,
        ]
      : code.split('\n').filter((line) => line.trim());
  const { url, text, notText, selector } = expect ?? {};
  const expected = { url, text, not_text: notText, selector };
  const isExpected = Object.values(expected).some(Boolean);
  const lines = [...done, ...(isExpected ? [formatPythonCall('expect', ['page'], expected)] : [])];
  const head = formatPythonCall('step', ['browser', formatPythonLiteral(id), formatPythonLiteral(title)], {});
  return [`    with ${head} as page:`, ...(lines.length ? lines : ['pass']).map((line) => `        ${line}`)];
}
