import type { AgentCommand, AttemptStep, PageLook, StepAttempted } from '@muster/contracts';
import { FakeWorker, type HttpClient } from '@muster/testing';

const aLook: PageLook = {
  ...{ url: 'http://portal.test/form', title: 'A form', tree: '- button "Send"', treeCut: false },
  ...{ screenshotKey: null, hasPasswordField: false, asksFor: null },
};

/**
 * Simulates workers with browsers. They execute each command once, even if it is pushed again, and repeat a report
 * until it is answered. They count the actions that submit a form.
 */
export class SimulatedBrowsers {
  /** Number of submissions by session id. */
  readonly sent = new Map<string, number>();
  /** Called before a command is executed; the execution waits for the returned promise. */
  pauseBeforeCommand: (command: AgentCommand) => Promise<void> | void = () => undefined;
  /** Called after a submission and before its result is reported; the report waits for the returned promise. */
  afterSending: (sessionId: string) => Promise<void> | void = () => undefined;
  private readonly handled = new Set<string>();
  private isStopped = false;

  private constructor(
    private readonly worker: FakeWorker,
    private readonly ingest: HttpClient,
  ) {}

  static async start(organizationId: string, ingest: HttpClient): Promise<SimulatedBrowsers> {
    const worker = await FakeWorker.startForOrganization(organizationId);
    const created = new SimulatedBrowsers(worker, ingest);
    worker.answer = (command) => {
      if (created.handled.has(command.commandId)) return 200;
      created.handled.add(command.commandId);
      setImmediate(() => void created.performCommand(command));
      return 202;
    };
    return created;
  }

  get url(): string {
    return this.worker.url;
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.worker.stop();
  }

  private async performCommand(command: AgentCommand): Promise<void> {
    await this.pauseBeforeCommand(command);
    const output = await this.simulateOutput(command);
    const path = `/api/agents/${command.agentId}/commands/${command.commandId}/result`;
    while (!this.isStopped) {
      const answer = await this.ingest.post(path, { status: 'success', output }).catch(() => null);
      if (answer && answer.status < 500) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  private async simulateOutput({ kind, payload }: AgentCommand): Promise<object> {
    if (kind === 'autopilot_open') return { reused: this.sent.size > 0, startError: null, look: aLook };
    if (kind === 'autopilot_close') return { remaining: 0 };
    if (kind === 'autopilot_look') return { look: aLook, ...('expect' in payload ? { holds: true } : {}) };
    const { actions = [], from = 0, maySubmit, sessionId } = payload as unknown as AttemptStep;
    const submits = actions.findIndex((action, at) => action.submits && at >= from);
    const stops = submits >= 0 && !maySubmit;
    if (submits >= 0 && !stops) {
      this.sent.set(sessionId, (this.sent.get(sessionId) ?? 0) + 1);
      await this.afterSending(sessionId);
    }
    const attempted: StepAttempted = {
      ...{ outcome: stops ? 'would_submit' : 'passed', error: null, why: null },
      ...{ at: stops ? submits : actions.length, submitted: submits >= 0 && !stops },
      ...{ done: [], steps: [], extracted: {}, blocked: [], look: aLook },
    };
    return attempted;
  }
}
