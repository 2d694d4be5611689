import type {
  AgentCommand,
  AttemptStep,
  AutopilotSession,
  AutopilotTask,
  CommandResultBody,
  LookAtPage,
  PageLook,
  SessionStatus,
  StepAttempted,
} from '@muster/contracts';
import { newId } from '@muster/platform';
import { FakeModel, FakeWorker, type Harness, makeAgent, startHarness, type Tenant, waitFor } from '@muster/testing';
import { standalone } from '../standalone';

const aLook: PageLook = {
  url: 'http://portal.test/form',
  title: 'A form',
  tree: '- button "Send"',
  treeCut: false,
  screenshotKey: null,
  hasPasswordField: false,
  asksFor: null,
};

type ReceivedCommand = AgentCommand & { payload: Record<string, unknown> };
type Answer = Partial<CommandResultBody> | 'nothing';

/** Returns a task that no session has learned yet. */
export function createTask(more: Partial<AutopilotTask> = {}): AutopilotTask {
  return {
    title: `Task ${newId()}`,
    goal: 'Have it done.',
    startUrl: 'http://portal.test/',
    inputs: [],
    steps: [{ id: 'do', title: 'Do it', instruction: 'Do it.', kind: 'browse' }],
    success: { description: 'it is done' },
    ...more,
  };
}

/** The service with a fake worker, which uses the real protocol and whose browsers act as the test specifies. */
export class FakeBrowsers {
  readonly received: ReceivedCommand[] = [];
  /** Number of attempts that submitted something, by session id. */
  readonly sent = new Map<string, number>();
  attempt: (payload: AttemptStep, command: ReceivedCommand) => Answer | Partial<StepAttempted> = () => ({});
  look: (payload: LookAtPage) => Answer | { look?: Partial<PageLook>; holds?: boolean; unmet?: string } = () => ({});
  open: (command: ReceivedCommand) => Answer = () => ({});
  close: (command: ReceivedCommand) => Answer = () => ({ output: { remaining: 0 } });

  private constructor(
    readonly harness: Harness,
    readonly tenant: Tenant,
    readonly model: FakeModel,
    private readonly worker: FakeWorker,
  ) {}

  static async start(env: Record<string, string> = {}): Promise<FakeBrowsers> {
    const model = await FakeModel.start();
    const harness = await startHarness({
      ...standalone,
      env: {
        OUTBOUND_ALLOW: '127.0.0.0/8',
        COMMAND_SWEEP_MS: '100',
        RATE_LIMIT_PER_MINUTE: '100000',
        ...model.environment,
        ...env,
      },
    });
    const tenant = await harness.makeTenant();
    const worker = await FakeWorker.startForOrganization(tenant.organizationId);
    const created = new FakeBrowsers(harness, tenant, model, worker);
    worker.answer = (command) => {
      created.received.push(command as ReceivedCommand);
      setImmediate(() => void created.performCommand(command as ReceivedCommand));
      return 202;
    };
    return created;
  }

  async makeAgent(more: object = {}): Promise<string> {
    const { organizationId } = this.tenant;
    const { id } = await makeAgent(this.harness.db, {
      organizationId,
      name: newId(),
      provider: 'http',
      status: 'online',
      ...more,
    });
    await this.harness.db.query(
      'system',
      `UPDATE agent SET last_seen = now(), tunnel_url = $2, seen_from = '127.0.0.1' WHERE id = $1`,
      [id, this.worker.url],
    );
    return id;
  }

  getClient(agentId: string) {
    const path = `/api/agents/${agentId}/autopilot`;
    const readSession = async (sessionId: string) =>
      (await this.tenant.api.get(`${path}?sessionId=${sessionId}`)).body as AutopilotSession;
    return {
      path,
      read: readSession,
      act: (body: object) => this.tenant.api.post(path, body),
      until: (sessionId: string, ...statuses: SessionStatus[]) =>
        waitFor(
          statuses.join(' or '),
          async () => {
            const session = await readSession(sessionId);
            return statuses.includes(session.status) && session;
          },
          60_000,
        ) as Promise<AutopilotSession>,
    };
  }

  /** Clears everything that the test itself has recorded. */
  clearRecords(): void {
    for (const list of [
      this.received,
      this.worker.received,
      this.worker.headers,
      this.model.calls,
      this.harness.logs,
    ]) {
      list.length = 0;
    }
  }

  async end(): Promise<void> {
    await this.harness.close();
    await Promise.all([this.worker.stop(), this.model.close()]);
  }

  private async performCommand(command: ReceivedCommand): Promise<void> {
    const { commandId, agentId, kind } = command;
    const answer = this.chooseAnswer(command);
    if (answer === 'nothing') return;
    await this.tenant.worker.post(`/api/agents/${agentId}/commands/${commandId}/result`, {
      status: 'success',
      ...answer,
    });
    if (kind === 'autopilot_attempt') {
      const { submitted } = (answer.output ?? {}) as Partial<StepAttempted>;
      const { sessionId } = command.payload as unknown as AttemptStep;
      if (submitted) this.sent.set(sessionId, (this.sent.get(sessionId) ?? 0) + 1);
    }
  }

  private chooseAnswer(command: ReceivedCommand): Answer {
    const { kind, payload } = command;
    if (kind === 'autopilot_open') {
      const answer = this.open(command);
      return answer === 'nothing' ? answer : { output: { reused: false, startError: null, look: aLook }, ...answer };
    }
    if (kind === 'autopilot_close') return this.close(command);
    if (kind === 'autopilot_look') {
      const answer = this.look(payload as unknown as LookAtPage);
      if (answer === 'nothing' || 'status' in answer) return answer as Answer;
      const { look, ...more } = answer as { look?: Partial<PageLook> };
      const held = (payload as unknown as LookAtPage).expect ? { holds: true } : {};
      return { output: { ...held, ...more, look: { ...aLook, ...look } } };
    }
    const step = payload as unknown as AttemptStep;
    const answer = this.attempt(step, command);
    if (answer === 'nothing' || 'status' in answer) return answer as Answer;
    const submits = step.actions?.findIndex(({ submits: sends }, at) => sends && at >= (step.from ?? 0)) ?? -1;
    const stops = submits >= 0 && !step.maySubmit;
    const base: StepAttempted = {
      outcome: stops ? 'would_submit' : 'passed',
      error: null,
      why: null,
      at: stops ? submits : (step.actions?.length ?? 0),
      submitted: !stops && submits >= 0,
      done: [],
      steps: [],
      extracted: {},
      blocked: [],
      look: aLook,
    };
    return { output: { ...base, ...(answer as Partial<StepAttempted>) } };
  }
}
