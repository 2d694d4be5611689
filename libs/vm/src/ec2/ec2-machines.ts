import { setTimeout as sleep } from 'node:timers/promises';
import type { EC2Client, Instance } from '@aws-sdk/client-ec2';
import { finishWithin } from '@muster/platform';
import {
  type ListedMachine,
  type Machine,
  type MachineDescription,
  MachineError,
  type MachineProvider,
  type MachineState,
} from '../machine';
import { requireOrganizationMark } from '../require-organization-mark';
import { toMachineError } from './ec2-errors';

export interface Ec2Options {
  /** URL that is used for every region. If absent, AWS's endpoint of each region is used. */
  endpoint?: string;
  /** Access key and secret; if absent, the credentials of the platform are used. */
  credentials?: { accessKeyId: string; secretAccessKey: string };
  /** Time limit for one call. */
  timeoutMs?: number;
  /** Time limit for a whole order (start, stop, reboot, terminate) with its waits and calls. */
  patienceMs?: number;
  pollMs?: number;
}

type Sdk = typeof import('@aws-sdk/client-ec2');
type Send = EC2Client['send'];

const tags = { agent: 'muster:agent', organization: 'muster:organization', expiresAt: 'muster:expires-at' };

const states: Record<string, MachineState> = {
  pending: 'starting',
  running: 'running',
  'shutting-down': 'stopping',
  stopping: 'stopping',
  stopped: 'stopped',
  terminated: 'gone',
};
const ending = ['shutting-down', 'terminated'];

/**
 * Provider whose machines are existing EC2 instances, identified by their ids. The calls of all organizations use the
 * deployment's credentials, so an instance without the tag of the agent's organization is neither changed nor
 * described. The SDK is loaded on first use, because it is large and most services have no such agent.
 */
export class Ec2Machines implements MachineProvider {
  readonly isShared = true;
  private readonly options: Required<Pick<Ec2Options, 'timeoutMs' | 'patienceMs' | 'pollMs'>> & Ec2Options;
  private readonly clients = new Map<string, EC2Client>();
  private loaded?: Promise<Sdk>;

  constructor(options: Ec2Options = {}) {
    this.options = { timeoutMs: 10_000, patienceMs: 25_000, pollMs: 1000, ...options };
  }

  async describe(machine: Machine): Promise<MachineDescription> {
    const instance = await this.findInstance(machine);
    if (!instance) return { state: 'gone', ip: null };
    return { state: toMachineState(instance), ip: instance.PublicIpAddress ?? instance.PrivateIpAddress ?? null };
  }

  /** Waits while the instance is stopping, because AWS refuses to start it then. */
  async start(machine: Machine): Promise<void> {
    await this.executeOrder(machine, 'start', async (state, { sdk, send }) => {
      if (state === 'running' || state === 'pending') return true;
      if (state === 'stopped') await send(new sdk.StartInstancesCommand({ InstanceIds: [requireInstanceId(machine)] }));
      return state === 'stopped';
    });
  }

  async stop(machine: Machine): Promise<void> {
    await this.executeOrder(machine, 'stop', async (state, { sdk, send }) => {
      if (state === null || state === 'stopped' || state === 'stopping' || ending.includes(state)) return true;
      if (state === 'running') await send(new sdk.StopInstancesCommand({ InstanceIds: [requireInstanceId(machine)] }));
      return state === 'running';
    });
  }

  async reboot(machine: Machine): Promise<void> {
    await this.executeOrder(machine, 'reboot', async (state, { sdk, send }) => {
      const InstanceIds = [requireInstanceId(machine)];
      if (state === 'stopped') await send(new sdk.StartInstancesCommand({ InstanceIds }));
      if (state === 'running') await send(new sdk.RebootInstancesCommand({ InstanceIds }));
      return state === 'stopped' || state === 'running';
    });
  }

  async terminate(machine: Machine): Promise<void> {
    await this.executeOrder(machine, 'terminate', async (state, { sdk, send }) => {
      if (state === null || ending.includes(state)) return true;
      await send(new sdk.TerminateInstancesCommand({ InstanceIds: [requireInstanceId(machine)] }));
      return true;
    });
  }

  getLocation({ providerConfig: { region } }: Machine): string | null {
    return typeof region === 'string' ? region : null;
  }

  async list(machine: Machine): Promise<ListedMachine[]> {
    const { sdk, send } = await this.connectToRegion(machine);
    const found: ListedMachine[] = [];
    let NextToken: string | undefined;
    do {
      const answer = await send(
        new sdk.DescribeInstancesCommand({
          Filters: [{ Name: 'tag-key', Values: [tags.agent] }],
          MaxResults: 1000,
          NextToken,
        }),
      );
      found.push(...listInstancesOfResponse(answer).map(toListedMachine));
      NextToken = answer.NextToken;
    } while (NextToken);
    return found;
  }

  close(): void {
    for (const client of this.clients.values()) client.destroy();
    this.clients.clear();
  }

  /** Retries until the instance's state allows the order, because a transitional state ends by itself. */
  private async executeOrder(
    machine: Machine,
    order: 'start' | 'stop' | 'reboot' | 'terminate',
    attempt: (state: string | null, connection: { sdk: Sdk; send: Send }) => Promise<boolean>,
  ): Promise<void> {
    const { patienceMs, pollMs } = this.options;
    const deadline = Date.now() + patienceMs;
    const createStayedError = (state: string | null) =>
      new MachineError('failed', `The instance stayed ${state}, which does not allow the order to ${order}.`);
    for (let lastState: string | null = null; ;) {
      const connection = await this.connectToRegion(machine, deadline);
      const state: string | null = await this.findInstance(machine, deadline).then(getRawState, (error: unknown) => {
        // The last call failed because the time limit of the order was reached. An error about the instance's state
        // explains the failure better.
        throw lastState !== null && Date.now() >= deadline ? createStayedError(lastState) : error;
      });
      lastState = state;
      if ((order === 'start' || order === 'reboot') && (state === null || ending.includes(state)))
        throw instanceGoneError(machine);
      try {
        if (await attempt(state, connection)) return;
      } catch (error) {
        if (order === 'terminate' && error instanceof MachineError && error.fault === 'gone') return;
        // AWS refused the order because the state of the instance changed between the two calls. The order is tried
        // again.
        if (!(error instanceof WrongState)) throw error;
      }
      if (Date.now() + pollMs > deadline) {
        throw createStayedError(state);
      }
      await sleep(pollMs);
    }
  }

  /** Returns the instance, or null if it does not exist. Throws if it is not marked as the organization's. */
  private async findInstance(machine: Machine, deadline?: number): Promise<Instance | null> {
    const { sdk, send } = await this.connectToRegion(machine, deadline);
    const id = requireInstanceId(machine);
    let answer;
    try {
      answer = await send(new sdk.DescribeInstancesCommand({ InstanceIds: [id] }));
    } catch (error) {
      if (error instanceof MachineError && error.fault === 'gone') return null;
      throw error;
    }
    const instance = listInstancesOfResponse(answer).find(({ InstanceId }) => InstanceId === id);
    if (!instance) return null;
    requireOrganizationMark(machine, {
      name: `instance ${id}`,
      marked: 'tagged',
      key: tags.organization,
      value: getInstanceTag(instance, tags.organization),
    });
    if (!states[getRawState(instance)!]) {
      throw new MachineError('bad_answer', `EC2 returned the state ${getRawState(instance)}, which is not valid.`);
    }
    return instance;
  }

  private async connectToRegion(machine: Machine, deadline = Date.now() + this.options.patienceMs) {
    const region = this.getLocation(machine);
    if (!region)
      throw new MachineError(
        'misconfigured',
        'The agent’s providerConfig has no region. Set it to the AWS region of the instance.',
      );
    requireInstanceId(machine);
    this.loaded ??= import('@aws-sdk/client-ec2');
    const sdk = await this.loaded;
    const client = this.getRegionClient(sdk, region);
    const send = ((command: Parameters<Send>[0]) => this.sendWithinLimit(client, command, deadline)) as Send;
    return { sdk, send };
  }

  /** Sends a command. The time limit covers the platform's credentials, the connection and the answer. */
  private async sendWithinLimit(client: EC2Client, command: Parameters<Send>[0], deadline: number): Promise<unknown> {
    const limitMs = Math.max(1, Math.min(this.options.timeoutMs, deadline - Date.now()));
    const abort = new AbortController();
    const throwUnreachable = (): never => {
      abort.abort();
      throw new MachineError('unreachable', `EC2 did not answer within ${limitMs} ms.`);
    };
    try {
      return await finishWithin(limitMs, client.send(command, { abortSignal: abort.signal }), throwUnreachable);
    } catch (error) {
      if (error instanceof MachineError) throw error;
      if ((error as Error).name === 'IncorrectInstanceState') throw new WrongState();
      throw toMachineError(error as Error);
    }
  }

  private getRegionClient(sdk: Sdk, region: string): EC2Client {
    const cached = this.clients.get(region);
    if (cached) return cached;
    const { endpoint, credentials, timeoutMs } = this.options;
    const client = new sdk.EC2Client({
      region,
      maxAttempts: 2,
      requestHandler: { connectionTimeout: 3000, requestTimeout: timeoutMs, throwOnRequestTimeout: true },
      ...(endpoint ? { endpoint } : {}),
      ...(credentials ? { credentials } : {}),
    });
    this.clients.set(region, client);
    return client;
  }
}

class WrongState extends Error {}

function requireInstanceId({ providerRef, providerConfig }: Machine): string {
  const id = providerRef ?? providerConfig['instanceId'];
  if (typeof id === 'string' && id) return id;
  throw new MachineError(
    'misconfigured',
    'The agent’s providerConfig has no instanceId. Set it to the id of the instance.',
  );
}

function instanceGoneError(machine: Machine): MachineError {
  return new MachineError(
    'gone',
    `The instance ${requireInstanceId(machine)} does not exist in the region of the agent. Check instanceId and region in providerConfig.`,
  );
}

function listInstancesOfResponse({ Reservations }: { Reservations?: { Instances?: Instance[] }[] }): Instance[] {
  return (Reservations ?? []).flatMap(({ Instances }) => Instances ?? []);
}

function getRawState(instance: Instance | null): string | null {
  return instance ? (instance.State?.Name ?? 'unknown') : null;
}

function toMachineState(instance: Instance): MachineState {
  return states[getRawState(instance)!] ?? 'unknown';
}

function getInstanceTag({ Tags }: Instance, key: string): string | null {
  return Tags?.find(({ Key }) => Key === key)?.Value ?? null;
}

function toListedMachine(instance: Instance): ListedMachine {
  const expires = Date.parse(getInstanceTag(instance, tags.expiresAt) ?? '');
  return {
    ref: instance.InstanceId!,
    agentId: getInstanceTag(instance, tags.agent),
    organizationId: getInstanceTag(instance, tags.organization),
    state: toMachineState(instance),
    expiresAt: Number.isNaN(expires) ? null : new Date(expires),
  };
}
