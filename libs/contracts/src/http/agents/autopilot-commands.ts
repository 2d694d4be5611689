/**
 * Error codes of an autopilot session's commands. The worker keeps the session's browser open between commands; the
 * runtime of the recordings drives it. Each command is an ordinary agent_command, and its output is a JSON object of a
 * type below. A result is `success` if the worker executed the command, even if its step failed. A `failed` result has
 * one of these codes.
 */
export const sessionFaults = [
  /** No browser is installed on this machine. */
  'browser_unavailable',
  /** The session has no running browser and must be opened again. */
  'browser_lost',
  /** The browser ended while the command ran; output is an InterruptedAttempt. */
  'interrupted',
  /** The command reached its deadline, so the worker closed the browser; output is an InterruptedAttempt. */
  'execution_timeout',
] as const;
export type SessionFault = (typeof sessionFaults)[number];

export interface OpenSession {
  sessionId: string;
  /**
   * Python program that keeps the browser open and executes the commands: `buildSessionProgram()` of workflows. It is
   * sent with the command, so that it never depends on the version of the worker.
   */
  program: string;
  /** URL of the first page, opened only in a new browser. Its origin must be one of allowedOrigins. */
  startUrl?: string;
  /** Origins that the session may open, in the format of `new URL(…).origin`. */
  allowedOrigins: string[];
  /**
   * Values that replace {{NAME}}. They do not include vault keys, which are in env and listed in payload.secretNames.
   */
  inputs: Record<string, string>;
  /** Minutes without a command after which the browser closes; 24 hours when absent. A person may set it. */
  idleMinutes?: number;
}

export interface SessionOpened {
  /** Whether the browser was open already; it then still shows its current page. */
  reused: boolean;
  /** Why a new browser could not show the start page. */
  startError: string | null;
  look: PageLook;
}

/** A condition on the page: `expect` of a step or `check` of a task. The page must match all fields that are set. */
export interface PageExpectation {
  url?: string;
  text?: string;
  notText?: string;
  selector?: string;
}

export interface LookAtPage {
  sessionId: string;
  /** State of the page to wait for, for at most 10 s. */
  expect?: PageExpectation;
  /** Whether to take a screenshot. False omits it. */
  screenshot?: boolean;
}

export interface PageLook {
  /** URL of the page. In this text and in all others, [secret] replaces the value of a vault key. */
  url: string;
  title: string;
  /** Accessibility tree, one element per line: `- button "Sign in"`. Cut at 40,000 characters. */
  tree: string;
  treeCut: boolean;
  /**
   * Key of a JPEG of the window, with secret fields hidden. Null if there is no screenshot; screenshotFault contains
   * the reason.
   */
  screenshotKey: string | null;
  screenshotFault?: string;
  hasPasswordField: boolean;
  /**
   * Input that the page requests from a person, such as a captcha, and that the session must not provide. Detected
   * without a model.
   */
  asksFor: 'one_time_code' | 'captcha' | null;
}

export interface PageLooked {
  look: PageLook;
  /** URLs outside allowedOrigins whose loading was blocked since the last command. */
  blocked: string[];
  /** Whether the page matches `expect` of the command. Present if the command has `expect`. */
  holds?: boolean;
  /** Human-readable description of what does not match. */
  unmet?: string;
}

export const sessionActions = ['navigate', 'click', 'fill', 'select', 'check', 'press', 'wait', 'extract'] as const;
export type SessionActionName = (typeof sessionActions)[number];
export const selectorKinds = ['role', 'text', 'label', 'testid', 'css', 'xpath'] as const;
export type SelectorKind = (typeof selectorKinds)[number];

/** One action, in the format of the model's answer for a step. */
export interface SessionAction {
  action: SessionActionName;
  /** For `extract`: name under which the text is stored in the result. */
  name: string;
  selectors: { kind: SelectorKind; selector: string }[];
  /**
   * For `navigate`: the URL. For `wait`: milliseconds, if there is no selector. For `check`: true or false; empty means
   * true.
   */
  value: string;
  /** For `extract`: whether to return all matching elements. */
  all: boolean;
  submits: boolean;
}

export interface AttemptStep {
  sessionId: string;
  /** The actions to execute; absent if `code` is set. */
  actions?: SessionAction[];
  /** Python code that can use `page` and `browser` of the recordings' runtime. */
  code?: string;
  /** Index of the first action or statement to execute: the `at` of the attempt that stopped there. */
  from?: number;
  /** If false, the attempt stops before the first action that submits something irreversibly. */
  maySubmit: boolean;
  /** Values of placeholders that only this attempt gets, by name. The worker redacts them for the rest of the session. */
  codes?: Record<string, string>;
  /** Milliseconds until the codes are valid; the attempt starts after this time. */
  codesAfterMs?: number;
  /** State of the page to wait for after the last action, for at most 10 s. */
  expect?: PageExpectation;
  screenshot?: boolean;
}

export interface SelectorCandidate {
  selector: string;
  kind: SelectorKind;
  /** Score of the selector from 0 to 1. */
  score: number;
  uniqueNow: boolean;
}

export interface DoneAction {
  /** Index of the executed action in the `actions` of the command. */
  at: number;
  name: string;
  /** Selectors of the action's element, best first, with inputs as {{NAME}}. Empty if the action has no element. */
  candidates: SelectorCandidate[];
}

export interface StepAttempted {
  /** would_submit: nothing was submitted. The same attempt with `from: at, maySubmit: true` continues there. */
  outcome: 'passed' | 'failed' | 'would_submit';
  error: string | null;
  /**
   * selector: no selector matches. name: a {{NAME}} is neither an input nor a vault key. address: a URL is outside
   * allowedOrigins. expect: all actions succeeded, but expect does not match. code: the code failed. page: any other
   * error.
   */
  why: 'selector' | 'name' | 'address' | 'expect' | 'code' | 'page' | null;
  /** Index of the action or statement at which the attempt stopped; their number if the attempt did not stop. */
  at: number;
  /** Whether something was submitted irreversibly. */
  submitted: boolean;
  done: DoneAction[];
  /** Executed actions as workflow steps. `writeStableCode(steps)` of workflows turns them into Python. */
  steps: Record<string, unknown>[];
  extracted: Record<string, unknown>;
  /** URLs outside allowedOrigins whose loading was blocked during the attempt. */
  blocked: string[];
  look: PageLook;
}

/** Last known state of an attempt without a result. The session program records it before each action. */
export interface InterruptedAttempt {
  /** none: nothing was submitted. unknown: a submit was about to start. done: submitted, and the page responded. */
  submit: 'none' | 'unknown' | 'done';
  at: number;
}

export interface CloseSession {
  sessionId: string;
}

export interface SessionClosed {
  /** Number of browser processes that are still alive. If it is not 0, the result is failed. */
  remaining: number;
}
