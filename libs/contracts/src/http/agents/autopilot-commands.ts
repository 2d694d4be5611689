/**
 * A session's browser on its worker: one that the recordings' runtime drives, kept open from command to command. Each
 * command is an agent_command like any other; its result's output is a JSON object of the type below. It is `success`
 * wherever the worker carried the command out, whatever came of it; `failed` has one of these codes.
 */
export const sessionFaults = [
  /** There is no browser on this machine. */
  'browser_unavailable',
  /** The session's browser is not there (any more): it is to be opened again. */
  'browser_lost',
  /** The command was going on when its browser ended: output is an InterruptedAttempt. */
  'interrupted',
  /** Its deadline came first: the browser is closed, output is an InterruptedAttempt. */
  'execution_timeout',
] as const;
export type SessionFault = (typeof sessionFaults)[number];

export interface OpenSession {
  sessionId: string;
  /**
   * The program that keeps the browser and answers, in Python: `sessionProgram()` of workflows. It comes with the
   * command as the runtime comes with each recorded script, so that a worker is never older than what it plays.
   */
  program: string;
  /** Opened first, in a new browser only; an origin beyond allowedOrigins is none of its. */
  startUrl?: string;
  /** As `new URL(…).origin` says it. */
  allowedOrigins: string[];
  /** What {{NAME}} is, beside vault keys: those are in the command's env, and payload.secretNames names them. */
  inputs: Record<string, string>;
  /** Of what a person said; 24 hours when absent: a browser that is given no command for so long ends by itself. */
  idleMinutes?: number;
}

export interface SessionOpened {
  /** Whether it lived already: then it shows what it showed. */
  reused: boolean;
  /** Why a new one does not show the start page. */
  startError: string | null;
  look: PageLook;
}

/** `expect` of a step, `check` of a task: all that is given must hold. */
export interface PageExpectation {
  url?: string;
  text?: string;
  notText?: string;
  selector?: string;
}

export interface LookAtPage {
  sessionId: string;
  /** Waited for, at most 10 s. */
  expect?: PageExpectation;
  /** Without a picture: it is false. */
  screenshot?: boolean;
}

export interface PageLook {
  /** All texts have [secret] in place of a vault key's value. */
  url: string;
  title: string;
  /** What assistive technology is told, one element a line: `- button "Sign in"`; cut at 40,000 characters. */
  tree: string;
  treeCut: boolean;
  /** The key of a JPEG of the window, without its secret fields; null where there is none, and why is in screenshotFault. */
  screenshotKey: string | null;
  screenshotFault?: string;
  hasPasswordField: boolean;
  /** What a session may not give, as far as it can be told without a model. */
  asksFor: 'one_time_code' | 'captcha' | null;
}

export interface PageLooked {
  look: PageLook;
  /** Addresses that the guard has not let through since the last command. */
  blocked: string[];
  /** Where expect was given. */
  holds?: boolean;
  /** What of it does not hold, for people. */
  unmet?: string;
}

export const sessionActions = ['navigate', 'click', 'fill', 'select', 'check', 'press', 'wait', 'extract'] as const;
export type SessionActionName = (typeof sessionActions)[number];
export const selectorKinds = ['role', 'text', 'label', 'testid', 'css', 'xpath'] as const;
export type SelectorKind = (typeof selectorKinds)[number];

/** As in the answer of a step. */
export interface SessionAction {
  action: SessionActionName;
  /** extract: the result's. */
  name: string;
  selectors: { kind: SelectorKind; selector: string }[];
  /** navigate: the address. wait: milliseconds, where there is no selector. check: true or false, true when empty. */
  value: string;
  /** extract: all that fit. */
  all: boolean;
  submits: boolean;
}

export interface AttemptStep {
  sessionId: string;
  /** One of the two. */
  actions?: SessionAction[];
  /** Python with `page` and `browser` of the recordings' runtime. */
  code?: string;
  /** Actions, or statements of the code, before this one are not done: as `at` of the attempt that stopped there says. */
  from?: number;
  /** False: it stops right before what sends something for good. */
  maySubmit: boolean;
  /** Waited for when all is done, at most 10 s. */
  expect?: PageExpectation;
  screenshot?: boolean;
}

export interface SelectorCandidate {
  selector: string;
  kind: SelectorKind;
  /** 0 to 1. */
  score: number;
  uniqueNow: boolean;
}

export interface DoneAction {
  /** Which of `actions`. */
  at: number;
  name: string;
  /** Of its element, the best first; inputs' values stand in them as {{NAME}}. None where it has no element. */
  candidates: SelectorCandidate[];
}

export interface StepAttempted {
  /** would_submit: nothing was sent; the same attempt with `from: at, maySubmit: true` goes on there. */
  outcome: 'passed' | 'failed' | 'would_submit';
  error: string | null;
  /**
   * selector: nothing fits. name: a {{NAME}} that is neither input nor vault key. address: outside of allowedOrigins.
   * expect: all was done, and what was expected is not there. code: the code failed. page: anything else.
   */
  why: 'selector' | 'name' | 'address' | 'expect' | 'code' | 'page' | null;
  /** The action or statement at which it stopped; their number where it didn't. */
  at: number;
  /** Something was sent for good. */
  submitted: boolean;
  done: DoneAction[];
  /** What was done of the actions, as steps of a workflow: `writeStableCode(steps)` of workflows is its Python. */
  steps: Record<string, unknown>[];
  extracted: Record<string, unknown>;
  /** As of a look. */
  blocked: string[];
  look: PageLook;
}

/** What is known of an attempt whose end nobody saw. It was written down before each action. */
export interface InterruptedAttempt {
  /** none: nothing was sent for good. unknown: it was about to. done: it was, and the page answered. */
  submit: 'none' | 'unknown' | 'done';
  at: number;
}

export interface CloseSession {
  sessionId: string;
}

export interface SessionClosed {
  /** How many of its processes are left; with more than none, the result is failed. */
  remaining: number;
}
