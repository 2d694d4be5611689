import { type Outbound, type OutboundAnswer, OutboundRefused } from '@muster/platform';
import {
  type Machine,
  type MachineDescription,
  MachineError,
  type MachineProvider,
  type MachineState,
  machineStates,
} from './machine';

type Order = 'start' | 'stop' | 'reboot' | 'terminate';

/** The customer's own control plane, over HTTP, each call signed with the organization's secret. */
export class HttpMachines implements MachineProvider {
  constructor(
    private readonly outbound: Pick<Outbound, 'fetch'>,
    private readonly timeoutMs = 10_000,
  ) {}

  async describe(machine: Machine): Promise<MachineDescription> {
    const { status, body } = await this.call(machine, 'GET');
    if (status === 404) return { state: 'gone', ip: null };
    if (status < 200 || status > 299) throw badAnswer('the question for its state', status);
    return readDescription(body);
  }

  async start(machine: Machine): Promise<void> {
    await this.order(machine, 'start', ['running', 'starting']);
  }

  async stop(machine: Machine): Promise<void> {
    await this.order(machine, 'stop', ['stopped', 'stopping', 'gone']);
  }

  async reboot(machine: Machine): Promise<void> {
    await this.order(machine, 'reboot', []);
  }

  async terminate(machine: Machine): Promise<void> {
    await this.order(machine, 'terminate', ['gone']);
  }

  /** A refusal is none where the machine is already as it should be. */
  private async order(machine: Machine, order: Order, wanted: MachineState[]): Promise<void> {
    const { status } = await this.call(machine, 'POST', order);
    if (status >= 200 && status <= 299) return;
    if (status === 404) {
      if (wanted.includes('gone')) return;
      throw new MachineError('gone', 'The control plane knows no such machine.');
    }
    if (status === 409 && wanted.includes((await this.describe(machine)).state)) return;
    throw badAnswer(`the order to ${order}`, status);
  }

  private async call(machine: Machine, method: 'GET' | 'POST', order?: Order): Promise<OutboundAnswer> {
    const url = `${addressOf(machine)}${order ? `/${order}` : ''}`;
    const headers = { accept: 'application/json', 'x-service-signature': machine.sign('') };
    try {
      return await this.outbound.fetch({ url, method, headers, timeoutMs: this.timeoutMs });
    } catch (error) {
      if (error instanceof OutboundRefused) {
        throw new MachineError('misconfigured', `The control plane's address is not called: ${error.message}.`);
      }
      const reason = (error as Error).message;
      throw new MachineError('unreachable', `The control plane did not answer: ${reason}.`, { cause: error });
    }
  }
}

function addressOf({ providerConfig, providerRef }: Machine): string {
  const { baseUrl } = providerConfig;
  const ref = providerRef ?? providerConfig['ref'];
  if (typeof baseUrl !== 'string' || !URL.canParse(baseUrl)) {
    throw new MachineError('misconfigured', 'The agent’s providerConfig has no baseUrl of a control plane.');
  }
  if (typeof ref !== 'string' || !ref) {
    throw new MachineError('misconfigured', 'The agent’s providerConfig has no ref of a machine.');
  }
  return `${baseUrl.replace(/\/+$/, '')}/machines/${encodeURIComponent(ref)}`;
}

function readDescription(body: Buffer): MachineDescription {
  const answer = parse(body);
  const { state, ip = null } = answer;
  if (!machineStates.includes(state as MachineState)) {
    throw new MachineError('bad_answer', `The control plane answered the state ${show(state)}, which is none.`);
  }
  if (ip !== null && (typeof ip !== 'string' || ip.length > 100)) {
    throw new MachineError('bad_answer', `The control plane answered the address ${show(ip)}, which is none.`);
  }
  return { state: state as MachineState, ip };
}

function parse(body: Buffer): Record<string, unknown> {
  try {
    const answer: unknown = JSON.parse(body.toString('utf8'));
    if (typeof answer === 'object' && answer !== null) return answer as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw new MachineError('bad_answer', 'The control plane’s answer is no JSON object.');
}

function badAnswer(what: string, status: number): MachineError {
  return new MachineError('bad_answer', `The control plane answered ${what} with status ${status}.`);
}

function show(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 60);
}
