import { type Outbound, type OutboundAnswer, OutboundRefused } from '@muster/platform';
import {
  type ListedMachine,
  type Machine,
  type MachineDescription,
  MachineError,
  type MachineProvider,
  type MachineState,
  machineStates,
} from './machine';

type Order = 'start' | 'stop' | 'reboot' | 'terminate';

/** Calls the customer's own control plane over HTTP. Each call is signed with the organization's secret. */
export class HttpMachines implements MachineProvider {
  constructor(
    private readonly outbound: Pick<Outbound, 'fetchBounded'>,
    private readonly timeoutMs = 10_000,
  ) {}

  async describe(machine: Machine): Promise<MachineDescription> {
    const { status, body } = await this.callMachine(machine, 'GET');
    if (status === 404) return { state: 'gone', ip: null };
    if (status < 200 || status > 299) throw badAnswerError('the request for its machine’s state', status);
    return parseMachineDescription(body);
  }

  async start(machine: Machine): Promise<void> {
    await this.sendOrder(machine, 'start', ['running', 'starting']);
  }

  async stop(machine: Machine): Promise<void> {
    await this.sendOrder(machine, 'stop', ['stopped', 'stopping', 'gone']);
  }

  /** Starts the machine if it is stopped and the control plane therefore refuses to reboot it. */
  async reboot(machine: Machine): Promise<void> {
    try {
      await this.sendOrder(machine, 'reboot', []);
    } catch (error) {
      const refused = error instanceof MachineError && error.fault === 'bad_answer';
      if (!refused || (await this.describe(machine)).state !== 'stopped') throw error;
      await this.start(machine);
    }
  }

  async terminate(machine: Machine): Promise<void> {
    await this.sendOrder(machine, 'terminate', ['gone']);
  }

  getLocation({ organizationId, providerConfig: { baseUrl } }: Machine): string | null {
    return typeof baseUrl === 'string' ? `${organizationId} ${baseUrl.replace(/\/+$/, '')}` : null;
  }

  /** Returns null if the control plane does not support listing. */
  async list(machine: Machine): Promise<ListedMachine[] | null> {
    const { status, body } = await this.sendSigned(machine, 'GET', `${requireBaseUrl(machine)}/machines`);
    if (status === 404 || status === 405 || status === 501) return null;
    if (status < 200 || status > 299) throw badAnswerError('the request for its machines', status);
    const { machines } = parseJsonObject(body);
    if (!Array.isArray(machines)) {
      throw new MachineError('bad_answer', 'The control plane did not return a list of machines.');
    }
    return machines.map(parseListedMachine);
  }

  /** Sends an order. A refusal counts as success if the machine is already in a wanted state. */
  private async sendOrder(machine: Machine, order: Order, wanted: MachineState[]): Promise<void> {
    const { status } = await this.callMachine(machine, 'POST', order);
    if (status >= 200 && status <= 299) return;
    if (status === 404) {
      if (wanted.includes('gone')) return;
      throw new MachineError(
        'gone',
        'The control plane has no machine with this ref. Check providerConfig.ref of the agent.',
      );
    }
    if (status === 409 && wanted.includes((await this.describe(machine)).state)) return;
    throw badAnswerError(`the order to ${order}`, status);
  }

  private callMachine(machine: Machine, method: 'GET' | 'POST', order?: Order): Promise<OutboundAnswer> {
    return this.sendSigned(machine, method, `${buildMachineUrl(machine)}${order ? `/${order}` : ''}`);
  }

  private async sendSigned(machine: Machine, method: 'GET' | 'POST', url: string): Promise<OutboundAnswer> {
    const headers = { accept: 'application/json', 'x-service-signature': machine.sign('') };
    try {
      return await this.outbound.fetchBounded({ url, method, headers, timeoutMs: this.timeoutMs });
    } catch (error) {
      if (error instanceof OutboundRefused) {
        throw new MachineError(
          'misconfigured',
          `The service does not call the control plane’s address: ${error.message}.`,
        );
      }
      const reason = (error as Error).message;
      throw new MachineError('unreachable', `The control plane did not answer: ${reason}.`, { cause: error });
    }
  }
}

function buildMachineUrl(machine: Machine): string {
  const baseUrl = requireBaseUrl(machine);
  const ref = machine.providerRef ?? machine.providerConfig['ref'];
  if (typeof ref !== 'string' || !ref) {
    throw new MachineError(
      'misconfigured',
      'The agent’s providerConfig has no ref. Set it to the control plane’s name of the machine.',
    );
  }
  return `${baseUrl}/machines/${encodeURIComponent(ref)}`;
}

function requireBaseUrl({ providerConfig: { baseUrl } }: Machine): string {
  if (typeof baseUrl === 'string' && URL.canParse(baseUrl)) return baseUrl.replace(/\/+$/, '');
  throw new MachineError(
    'misconfigured',
    'The agent’s providerConfig has no valid baseUrl. Set it to the URL of the machine’s control plane.',
  );
}

function parseListedMachine(found: unknown): ListedMachine {
  const { ref, agentId = null, state, expiresAt = null } = (found ?? {}) as Record<string, unknown>;
  const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= 200;
  const expires = isText(expiresAt) ? Date.parse(expiresAt) : null;
  if (!isText(ref) || !ref || !machineStates.includes(state as MachineState) || Number.isNaN(expires)) {
    throw new MachineError(
      'bad_answer',
      `The control plane listed ${quoteValue(found)}, which is not a valid machine.`,
    );
  }
  return {
    ref,
    agentId: isText(agentId) ? agentId : null,
    organizationId: null,
    state: state as MachineState,
    expiresAt: expires === null ? null : new Date(expires),
  };
}

function parseMachineDescription(body: Buffer): MachineDescription {
  const answer = parseJsonObject(body);
  const { state, ip = null } = answer;
  if (!machineStates.includes(state as MachineState)) {
    throw new MachineError(
      'bad_answer',
      `The control plane returned the state ${quoteValue(state)}, which is not valid.`,
    );
  }
  if (ip !== null && (typeof ip !== 'string' || ip.length > 100)) {
    throw new MachineError(
      'bad_answer',
      `The control plane returned the address ${quoteValue(ip)}, which is not valid.`,
    );
  }
  return { state: state as MachineState, ip };
}

function parseJsonObject(body: Buffer): Record<string, unknown> {
  try {
    const answer: unknown = JSON.parse(body.toString('utf8'));
    if (typeof answer === 'object' && answer !== null) return answer as Record<string, unknown>;
  } catch {
    // Invalid JSON is treated like a body that is not an object, which is reported below.
  }
  throw new MachineError('bad_answer', 'The control plane’s answer is not a JSON object.');
}

function badAnswerError(request: string, status: number): MachineError {
  return new MachineError('bad_answer', `The control plane answered ${request} with status ${status}.`);
}

function quoteValue(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 60);
}
