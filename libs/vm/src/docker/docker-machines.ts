import type { Outbound } from '@muster/platform';
import {
  type ListedMachine,
  type Machine,
  type MachineDescription,
  MachineError,
  type MachineProvider,
  type MachineState,
} from '../machine';
import { requireOrganizationMark } from '../require-organization-mark';
import { Engine, type EngineCall, type EngineTls, extractEngineMessage } from './engine';

export interface DockerOptions {
  outbound: Pick<Outbound, 'fetchBounded'>;
  /** Host of the deployment's own engine. Only this host may be a socket. */
  host?: string;
  /** TLS to the deployment's engine. Engines that agents name never receive the service's certificate. */
  tls?: EngineTls;
  /** Time limit for a whole order (start, stop, reboot, terminate) with all its calls, without the grace period. */
  timeoutMs?: number;
  /** Seconds that a container may take to end before it is killed. */
  graceSeconds?: number;
}

const labels = { agent: 'muster.agent', organization: 'muster.organization', expiresAt: 'muster.expires-at' };

const states: Record<string, MachineState> = {
  created: 'stopped',
  running: 'running',
  // A paused container is neither running nor stopped, because its processes exist but do not run.
  paused: 'unknown',
  restarting: 'starting',
  removing: 'stopping',
  exited: 'stopped',
  dead: 'gone',
};

interface Container {
  Name: string;
  State: { Status: string };
  Config: { Labels: Record<string, string> };
  NetworkSettings: { Networks: Record<string, { IPAddress?: string }> };
}

/**
 * Provider whose machines are existing containers, identified by name or id. A container without the label of the
 * agent's organization is neither changed nor described, on the deployment's engine as well as on an agent's.
 */
export class DockerMachines implements MachineProvider {
  readonly isShared = true;
  private readonly engines = new Map<string, Engine>();
  private readonly options: Required<Pick<DockerOptions, 'timeoutMs' | 'graceSeconds'>> & DockerOptions;

  constructor(options: DockerOptions) {
    this.options = { timeoutMs: 10_000, graceSeconds: 10, ...options };
  }

  async describe(machine: Machine): Promise<MachineDescription> {
    const container = await this.inspectContainer(machine, this.createEngineCall(machine));
    if (!container) return { state: 'gone', ip: null };
    const networks = Object.values(container.NetworkSettings.Networks);
    return {
      state: toMachineState(container.State.Status),
      ip: networks.find(({ IPAddress }) => IPAddress)?.IPAddress ?? null,
    };
  }

  /** Starts the container. Status 304 means that it was already running. */
  async start(machine: Machine): Promise<void> {
    await this.sendOrder(machine, { action: 'start the container', path: 'start', accepted: [204, 304] });
  }

  async stop(machine: Machine): Promise<void> {
    const path = `stop?t=${this.options.graceSeconds}`;
    await this.sendOrder(machine, {
      action: 'stop the container',
      path,
      accepted: [204, 304],
      waits: true,
      acceptsMissing: true,
    });
  }

  async reboot(machine: Machine): Promise<void> {
    const path = `restart?t=${this.options.graceSeconds}`;
    await this.sendOrder(machine, { action: 'restart the container', path, accepted: [204], waits: true });
  }

  /** Removes the container. Status 409 means that it is already being removed. */
  async terminate(machine: Machine): Promise<void> {
    const path = '?force=true&v=true';
    await this.sendOrder(machine, {
      action: 'remove the container',
      method: 'DELETE',
      path,
      accepted: [204, 409],
      acceptsMissing: true,
    });
  }

  getLocation({ providerConfig }: Machine): string | null {
    return (providerConfig['host'] as string | undefined) ?? this.options.host ?? null;
  }

  async list(machine: Machine): Promise<ListedMachine[]> {
    const filters = encodeURIComponent(JSON.stringify({ label: [labels.agent] }));
    const { status, body } = await this.createEngineCall(machine)({
      method: 'GET',
      path: `/containers/json?all=true&filters=${filters}`,
    });
    if (status !== 200 || !Array.isArray(body)) throw createRefusalError('list its containers', status, body);
    return body.map((found: { Names?: string[]; Id: string; State: string; Labels: Record<string, string> }) => {
      const expires = Date.parse(found.Labels[labels.expiresAt] ?? '');
      return {
        ref: removeLeadingSlash(found.Names?.[0]) ?? found.Id,
        id: found.Id,
        agentId: found.Labels[labels.agent] ?? null,
        organizationId: found.Labels[labels.organization] ?? null,
        state: toMachineState(found.State),
        expiresAt: Number.isNaN(expires) ? null : new Date(expires),
      };
    });
  }

  private async sendOrder(
    machine: Machine,
    order: {
      action: string;
      path: string;
      accepted: number[];
      method?: 'DELETE';
      waits?: boolean;
      acceptsMissing?: boolean;
    },
  ): Promise<void> {
    const { action, path, accepted, method = 'POST', waits = false, acceptsMissing = false } = order;
    // The engine answers a stop or a restart when the container has ended, at the latest after the grace period.
    const call = this.createEngineCall(machine, waits ? this.options.graceSeconds * 1000 : 0);
    const container = await this.inspectContainer(machine, call);
    const fullPath = `/containers/${requireContainerRef(machine)}${method === 'DELETE' ? '' : '/'}${path}`;
    const { status, body } = container ? await call({ method, path: fullPath }) : { status: 404, body: null };
    if (accepted.includes(status)) return;
    if (status === 404 && acceptsMissing) return;
    if (status === 404)
      throw new MachineError(
        'gone',
        `The Docker host has no container ${requireContainerRef(machine)}. Check providerConfig.container of the agent.`,
      );
    throw createRefusalError(action, status, body);
  }

  /** Returns a function for calls to the engine that share the time limit of one order. */
  private createEngineCall(machine: Machine, moreMs = 0) {
    const engine = this.getEngine(machine);
    const deadline = Date.now() + this.options.timeoutMs + moreMs;
    return (call: Omit<EngineCall, 'timeoutMs'>) =>
      engine.callEngine({ ...call, timeoutMs: Math.max(1, deadline - Date.now()) });
  }

  private async inspectContainer(
    machine: Machine,
    call: ReturnType<DockerMachines['createEngineCall']>,
  ): Promise<Container | null> {
    const { status, body } = await call({ method: 'GET', path: `/containers/${requireContainerRef(machine)}/json` });
    if (status === 404) return null;
    if (status !== 200) throw createRefusalError('describe the container', status, body);
    const container = parseContainerResponse(body);
    requireOrganizationMark(machine, {
      name: `container ${requireContainerRef(machine)}`,
      marked: 'labelled',
      key: labels.organization,
      value: container.Config.Labels[labels.organization],
    });
    return container;
  }

  private getEngine(machine: Machine): Engine {
    const host = this.getLocation(machine);
    if (!host)
      throw new MachineError(
        'misconfigured',
        'The agent’s providerConfig has no host, and the service has no DOCKER_HOST. Set one of them.',
      );
    const isOwn = host === this.options.host;
    if (!isOwn && !host.startsWith('tcp://')) {
      throw new MachineError(
        'misconfigured',
        'The Docker host of an agent must start with tcp://. Only DOCKER_HOST can be a socket.',
      );
    }
    const cached = this.engines.get(host);
    if (cached) return cached;
    const engine = new Engine(host, isOwn ? { tls: this.options.tls } : { outbound: this.options.outbound });
    this.engines.set(host, engine);
    return engine;
  }
}

function requireContainerRef({ providerRef, providerConfig }: Machine): string {
  const ref = providerRef ?? providerConfig['container'];
  if (typeof ref === 'string' && /^[A-Za-z0-9][\w.-]*$/.test(ref)) return ref;
  throw new MachineError(
    'misconfigured',
    'The agent’s providerConfig has no container. Set it to the name of the container.',
  );
}

function toMachineState(status: string): MachineState {
  return states[status] ?? 'unknown';
}

function removeLeadingSlash(name: string | undefined): string | null {
  return name?.replace(/^\//, '') || null;
}

function parseContainerResponse(body: unknown): Container {
  const { Name = '', State, Config, NetworkSettings } = (body ?? {}) as Partial<Container>;
  if (typeof State?.Status !== 'string' || !states[State.Status]) {
    const status = JSON.stringify(State?.Status ?? null).slice(0, 60);
    throw new MachineError('bad_answer', `The Docker Engine returned the state ${status}, which is not valid.`);
  }
  return {
    Name,
    State,
    Config: { Labels: Config?.Labels ?? {} },
    NetworkSettings: { Networks: NetworkSettings?.Networks ?? {} },
  };
}

function createRefusalError(action: string, status: number, body: unknown): MachineError {
  const fault =
    status === 429
      ? 'throttled'
      : status === 401 || status === 403
        ? 'denied'
        : status >= 500
          ? 'failed'
          : 'bad_answer';
  const message = extractEngineMessage(body);
  return new MachineError(
    fault,
    `The Docker Engine did not ${action}: status ${status}${message ? `, ${message}` : ''}.`,
  );
}
