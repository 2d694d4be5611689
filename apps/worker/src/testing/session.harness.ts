import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import type {
  AttemptStep,
  PageExpectation,
  PageLook,
  SelectorKind,
  SessionAction,
  StepAttempted,
} from '@muster/contracts';
import { FakePortal, killAll, findProcesses, buildSessionProgram, waitFor } from '@muster/testing';
import { findBrowser } from '../browser/find-browser';
import { FakeService, type Json } from './fake-service.harness';
import { buildCommand, WorkerHarness } from './worker-process.harness';

export const chromium = findBrowser(process.env);
export const noChromium = chromium ? '' : ' (skipped: no Chromium here; put one on PATH, or name it in CHROMIUM)';

type ActionFields = Partial<SessionAction> & { selectors?: SessionAction['selectors'] };

/** Returns an action with all its fields, as a model must return it. */
export function buildAction(name: SessionAction['action'], selector: string, more: ActionFields = {}): SessionAction {
  const kind: SelectorKind = selector.startsWith('aria/') ? 'role' : selector.startsWith('text/') ? 'text' : 'css';
  const selectors = selector ? [{ kind, selector }] : [];
  return { action: name, name: '', selectors, value: '', all: false, submits: false, ...more };
}

/** A worker with a session's browser, and the portal that the session uses. */
export class SessionHarness {
  sessionId = randomUUID();

  private constructor(
    readonly service: FakeService,
    readonly worker: WorkerHarness,
    readonly portal: FakePortal,
  ) {}

  static async start(): Promise<SessionHarness> {
    const service = await FakeService.start();
    const worker = new WorkerHarness(service, { DISPLAY: '', ...(chromium ? { CHROMIUM: chromium } : {}) });
    await worker.start();
    return new SessionHarness(service, worker, await FakePortal.start());
  }

  async stop(): Promise<void> {
    await this.worker.kill();
    // A remaining process may still write to the folder.
    await waitFor('the browser to end', () => {
      const left = findProcesses('MUSTER_RUN_ID=').filter((pid) =>
        readWorkingFolder(pid).startsWith(this.worker.folder),
      );
      killAll([...this.listProcesses(), ...left]);
      return left.length === 0 && this.listProcesses().length === 0;
    });
    await this.worker.remove();
    await this.service.stop();
    await this.portal.close();
  }

  /** Sends a command and returns its id. The result arrives later. */
  async sendCommand(
    kind: string,
    payload: object,
    env: Record<string, string> = {},
    more: object = {},
  ): Promise<string> {
    const fields = { sessionId: this.sessionId, secretNames: Object.keys(env), ...payload };
    const command = buildCommand(kind, fields, { env, ...more });
    await this.service.pushCommand(command);
    return command.commandId;
  }

  async waitForResult(commandId: string): Promise<Json> {
    return this.service.waitUntil('the result', () => this.service.findResult(commandId));
  }

  async askSession(kind: string, payload: object, env: Record<string, string> = {}): Promise<Json> {
    return this.waitForResult(await this.sendCommand(kind, payload, env));
  }

  open(path: string, more: object = {}, secrets: Record<string, string> = { PORTAL_PASSWORD: this.portal.password }) {
    const defaults = {
      program: buildSessionProgram(),
      startUrl: `${this.portal.url}${path}`,
      allowedOrigins: [this.portal.url],
      inputs: { CLAIM_ID: 'C-1003', AMOUNT: '125.50' },
    };
    return this.askSession('autopilot_open', { ...defaults, ...more }, secrets);
  }

  async lookAtPage(more: object = {}): Promise<PageLook & { holds?: boolean; unmet?: string }> {
    const { output } = await this.askSession('autopilot_look', { screenshot: false, ...more });
    return { ...output.look, ...output };
  }

  async attemptStep(input: Partial<AttemptStep>): Promise<StepAttempted> {
    const { output, error } = await this.askSession('autopilot_attempt', {
      maySubmit: true,
      screenshot: false,
      ...input,
    });
    if (!output) throw new Error(`no attempt: ${error}`);
    return output;
  }

  performActions(actions: SessionAction[], expect?: PageExpectation): Promise<StepAttempted> {
    return this.attemptStep({ actions, ...(expect ? { expect } : {}) });
  }

  async signIn(): Promise<void> {
    const { outcome, error } = await this.performActions(
      [
        buildAction('fill', 'aria/User name[role="textbox"]', { value: this.portal.user }),
        buildAction('fill', 'aria/Password', { value: '{{PORTAL_PASSWORD}}' }),
        buildAction('click', 'aria/Sign in[role="button"]'),
      ],
      { url: '/claims', text: 'Page 1' },
    );
    if (outcome !== 'passed') throw new Error(`not signed in: ${error}`);
  }

  async goTo(path: string): Promise<StepAttempted> {
    return this.performActions([buildAction('navigate', '', { value: path })]);
  }

  /** Returns the processes of the session, even if they have left its process group. */
  listProcesses(): number[] {
    return findProcesses(`MUSTER_RUN_ID=${this.sessionId}`);
  }
}

function readWorkingFolder(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}
