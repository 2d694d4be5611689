import { signatureHeader, checkSignature } from '@muster/access';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type MachineOrder = 'start' | 'stop' | 'reboot' | 'terminate';
type Power = 'stopped' | 'starting' | 'running' | 'stopping' | 'gone';
/** The program that runs on a machine while it is on. */
interface Program {
  start(): void;
  kill(): Promise<void>;
}
/** Whether the provider executes an order that it never answers. */
export type HeldOrder = 'not executed' | 'executed';

const bootMs = 300;
const shutdownMs = 200;

/** A simulated machine. Its boot and shutdown take time, and its program is restarted with every boot. */
export class ParkedMachine {
  state: Power = 'stopped';
  boots = 0;
  program?: Program;
  /** Whether the next boot or shutdown lasts until `releaseOrder` is called. */
  pauses = false;
  readonly calls: MachineOrder[] = [];
  private holding: { order: MachineOrder; held: HeldOrder; reached: () => void } | null = null;
  private release: (() => void) | null = null;

  /** Never answers the next order of this kind. Resolves when the order has arrived. */
  holdOrder(order: MachineOrder, held: HeldOrder): Promise<void> {
    return new Promise((reached) => (this.holding = { order, held, reached }));
  }

  releaseOrder(): void {
    this.pauses = false;
    this.release?.();
  }

  async receiveOrder(order: MachineOrder, response: ServerResponse): Promise<void> {
    this.calls.push(order);
    const { holding } = this;
    if (holding?.order !== order) return sendJson(response, this.executeOrder(order) ? 202 : 409, {});
    this.holding = null;
    if (holding.held === 'executed') this.executeOrder(order);
    const gone = once(response, 'close');
    holding.reached();
    await gone;
  }

  /** Executes the order. Returns false if the machine's state does not allow it. */
  executeOrder(order: MachineOrder): boolean {
    if (this.state === 'gone') return false;
    if (order === 'terminate') return this.turnOff('gone');
    if (order === 'stop') return (this.state === 'running' || this.state === 'starting') && this.turnOff('stopped');
    if (order === 'start' && this.state !== 'stopped') return false;
    if (order === 'reboot' && this.state === 'stopping') return false;
    void this.turnOn();
    return true;
  }

  private async turnOn(): Promise<void> {
    this.state = 'starting';
    this.boots += 1;
    const boot = this.boots;
    await this.program?.kill();
    await this.passTime(bootMs);
    if (this.state !== 'starting' || boot !== this.boots) return;
    this.state = 'running';
    this.program?.start();
  }

  private turnOff(to: 'stopped' | 'gone'): true {
    this.state = 'stopping';
    void Promise.all([this.program?.kill(), this.passTime(shutdownMs)]).then(() => (this.state = to));
    return true;
  }

  private async passTime(leastMs: number): Promise<void> {
    const paused = this.pauses ? new Promise<void>((resolve) => (this.release = resolve)) : null;
    await new Promise((resolve) => setTimeout(resolve, leastMs));
    await paused;
  }
}

/** A customer's control plane over HTTP. It accepts only requests that are signed with the organization's secret. */
export class MachinePark {
  readonly machines = new Map<string, ParkedMachine>();
  signingSecret = '';
  unsigned = 0;
  private readonly server: Server = createServer((request, response) => void this.serveRequest(request, response));

  static async open(): Promise<MachinePark> {
    const park = new MachinePark();
    await new Promise<void>((resolve) => park.server.listen(0, '127.0.0.1', resolve));
    return park;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  addMachine(ref: string): ParkedMachine {
    const machine = new ParkedMachine();
    this.machines.set(ref, machine);
    return machine;
  }

  async close(): Promise<void> {
    await Promise.all([...this.machines.values()].map(({ program }) => program?.kill()));
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serveRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const header = request.headers[signatureHeader] as string | undefined;
    if (checkSignature([this.signingSecret], header, '', new Date()) !== 'valid') {
      this.unsigned += 1;
      return sendJson(response, 401, {});
    }
    const [, ref, order] = /^\/machines\/([\w-]+)(?:\/(start|stop|reboot|terminate))?$/.exec(request.url!) ?? [];
    const machine = this.machines.get(ref ?? '');
    if (!machine || machine.state === 'gone') return sendJson(response, 404, {});
    if (request.method === 'GET' && !order) {
      const ip = machine.state === 'running' ? '10.0.0.7' : null;
      return sendJson(response, 200, { state: machine.state, ip });
    }
    if (request.method !== 'POST' || !order) return sendJson(response, 405, {});
    return machine.receiveOrder(order as MachineOrder, response);
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
