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

/** A question to a person whose answer, a one-time code, actions contain as a placeholder with this name. */
export interface CodeQuestion {
  name: string;
  question: string;
}

/**
 * Writes the executed actions of an attempt as Python statements that use `page` of the recordings' runtime. The
 * question is asked before the first action that contains its placeholder.
 */
export function writeStableCode(steps: readonly Step[], codeQuestion?: CodeQuestion): string {
  let tab: unknown;
  const asksAt = codeQuestion ? steps.findIndex((step) => hasPlaceholder(step, codeQuestion.name)) : -1;
  return steps
    .flatMap((step, at) => {
      const { target } = step;
      const isElsewhere = target !== tab;
      tab = target;
      const action = writeManualAction(step, undefined);
      return [
        ...(at === asksAt ? [writeQuestion(codeQuestion!)] : []),
        ...(isElsewhere ? [`page = browser.page(${target === undefined ? '' : formatPythonLiteral(target)})`] : []),
        ...(step['submits'] === true ? ['submits(page)'] : []),
        // eslint-disable-next-line plain/words -- The name of a Python method.
        ...(leading.includes(step['type'] as string) ? ['with page.settled():', `    ${action}`] : [action]),
      ];
    })
    .join('\n');
}

function hasPlaceholder(step: Step, name: string): boolean {
  return [...JSON.stringify(step).matchAll(/\{\{\s*([^{}]+?)\s*\}\}/g)].some((match) => match[1] === name);
}

function writeQuestion({ name, question }: CodeQuestion): string {
  return formatPythonCall('ask_people', ['browser', formatPythonLiteral(question), formatPythonLiteral(name)], {
    kind: 'code',
  });
}

export interface LearnedStep {
  id: string;
  title: string;
  /** Python code of the step; null if a person wrote the code for the step, so that there is none for a later run. */
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
