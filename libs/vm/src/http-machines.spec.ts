import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Outbound } from '@muster/platform';
import { testProviderConformance, expectBoundedFailure, makeTestMachine } from './conformance';
import { HttpMachines } from './http-machines';
import type { Machine } from './machine';

const secret = 'mss_secret';

/** Signs a text as the service does. Other tests compare the service's signature with the contract. */
function signText(text: string, t = Math.floor(Date.now() / 1000)): string {
  return `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${text}`).digest('hex')}`;
}

/** A customer's control plane over real HTTP. It checks every signature and has one machine. */
class ControlPlane {
  state: 'running' | 'stopped' | 'gone' = 'stopped';
  readonly boots: string[] = [];
  readonly calls: string[] = [];
  /** Machines that the control plane lists. If absent, the control plane does not support listing. */
  listed?: unknown[];
  answerInstead?: (response: ServerResponse) => void;
  private readonly server: Server = createServer((request, response) => void this.answerRequest(request, response));

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1/`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    if (!hasValidSignature(request.headers['x-service-signature'], body)) return endResponse(response, 401, {});
    const [, order] = /^\/v1\/machines\/vm%2F7(?:\/(\w+))?$/.exec(request.url!) ?? [null, 'nothing'];
    this.calls.push(request.url === '/v1/machines' ? 'list' : `${request.method} ${order ?? 'state'}`);
    if (this.answerInstead) return this.answerInstead(response);
    if (request.method === 'GET' && request.url === '/v1/machines') {
      return this.listed ? endResponse(response, 200, { machines: this.listed }) : endResponse(response, 404, {});
    }
    if (request.method === 'GET' && !order) {
      if (this.state === 'gone') return endResponse(response, 404, {});
      return endResponse(response, 200, { state: this.state, ip: this.state === 'running' ? '10.0.0.7' : null });
    }
    if (request.method !== 'POST') return endResponse(response, 405, {});
    if (order === 'start' && this.state === 'running') return endResponse(response, 409, { error: 'it runs' });
    if (order === 'start') this.bootMachine();
    else if (order === 'stop') this.state = 'stopped';
    else if (order === 'reboot') this.bootMachine();
    else if (order === 'terminate') this.state = 'gone';
    else return endResponse(response, 404, {});
    return endResponse(response, 202, {});
  }

  private bootMachine(): void {
    this.state = 'running';
    this.boots.push(`boot ${this.boots.length}`);
  }
}

function hasValidSignature(header: string | string[] | undefined, body: string): boolean {
  const match = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(header));
  if (!match || Math.abs(Date.now() / 1000 - Number(match[1])) > 300) return false;
  const expected = createHmac('sha256', secret).update(`${match[1]}.${body}`).digest();
  return timingSafeEqual(expected, Buffer.from(match[2]!, 'hex'));
}

function endResponse(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function startControlPlaneFixture() {
  const plane = new ControlPlane();
  const baseUrl = await plane.listen();
  const outbound = new Outbound(['127.0.0.0/8']);
  return {
    plane,
    provider: new HttpMachines(outbound, 2000),
    machine: makeTestMachine({ providerConfig: { baseUrl, ref: 'vm/7' }, sign: signText }),
    boots: () => Promise.resolve(plane.boots),
    leftovers: () => Promise.resolve(plane.state === 'running' ? ['a running machine'] : []),
    close: async () => {
      outbound.onApplicationShutdown();
      await plane.close();
    },
  };
}

testProviderConformance('http', startControlPlaneFixture);

describe('a control plane', () => {
  let fixture: Awaited<ReturnType<typeof startControlPlaneFixture>>;
  beforeEach(async () => (fixture = await startControlPlaneFixture()));
  afterEach(() => fixture.close());

  it('a control plane’s answer determines the state and address of its machine', async () => {
    fixture.plane.state = 'running';
    expect(await fixture.provider.describe(fixture.machine)).toEqual({ state: 'running', ip: '10.0.0.7' });
    fixture.plane.state = 'gone';
    expect(await fixture.provider.describe(fixture.machine)).toEqual({ state: 'gone', ip: null });
  });

  it('an order to a machine times out as unreachable if its control plane hangs', async () => {
    fixture.plane.answerInstead = () => undefined;
    const errors = await expectBoundedFailure(fixture.provider, fixture.machine);
    expect(errors.map(({ fault, isPermanent: permanent }) => [fault, permanent])).toEqual(
      Array(5).fill(['unreachable', false]),
    );
  });

  it('an order to a machine fails as unreachable if nothing listens at its control plane’s address', async () => {
    await fixture.plane.close();
    const errors = await expectBoundedFailure(fixture.provider, fixture.machine);
    expect(new Set(errors.map(({ fault }) => fault))).toEqual(new Set(['unreachable']));
  });

  it.each([
    ['fails', (response: ServerResponse) => endResponse(response, 500, {}), /status 500/],
    ['refuses the signature', (response: ServerResponse) => endResponse(response, 401, {}), /status 401/],
    ['redirects', (response: ServerResponse) => response.writeHead(302, { location: '/' }).end(), /status 302/],
    [
      'returns an invalid answer',
      (response: ServerResponse) => response.writeHead(409).end('<html>'),
      /409|not a JSON/,
    ],
  ])('an error quotes the answer of a control plane that %s', async (_, answer, pattern) => {
    fixture.plane.answerInstead = answer;
    for (const error of await expectBoundedFailure(fixture.provider, fixture.machine)) {
      expect([error.fault, error.isPermanent]).toEqual(['bad_answer', false]);
      expect(error.message).toMatch(pattern);
    }
  });

  it.each([
    ['invalid JSON', 'no', /not a JSON object/],
    ['a JSON string', '"running"', /not a JSON object/],
    ['no state', '{}', /the state nothing/],
    ['an unknown state', '{"state":"on fire"}', /"on fire"/],
    ['an invalid address', '{"state":"running","ip":7}', /the address 7/],
  ])('the answer of a control plane is rejected: %s', async (_, body, pattern) => {
    fixture.plane.answerInstead = (response) => response.writeHead(200).end(body);
    await expect(fixture.provider.describe(fixture.machine)).rejects.toThrow(pattern);
  });

  it('a machine that its control plane does not have can be stopped and terminated, but not started or rebooted', async () => {
    fixture.plane.answerInstead = (response) => endResponse(response, 404, {});
    const { provider, machine } = fixture;
    await expect(provider.start(machine)).rejects.toMatchObject({ fault: 'gone', isPermanent: true });
    await expect(provider.reboot(machine)).rejects.toMatchObject({ fault: 'gone' });
    await provider.stop(machine);
    await provider.terminate(machine);
  });

  it('the machines of a control plane are listed if it supports listing', async () => {
    const { plane, provider, machine } = fixture;
    expect(await provider.list(machine)).toBeNull();
    plane.listed = [
      { ref: 'vm/7', state: 'running' },
      { ref: 'vm/8', agentId: 'a', state: 'stopped', expiresAt: '2030-01-01T00:00:00.000Z', zone: 'b' },
    ];
    expect(await provider.list(machine)).toEqual([
      { ref: 'vm/7', agentId: null, organizationId: null, state: 'running', expiresAt: null },
      { ref: 'vm/8', agentId: 'a', organizationId: null, state: 'stopped', expiresAt: new Date('2030-01-01') },
    ]);
    expect(plane.calls).toEqual(['list', 'list']);
  });

  it.each([
    [{ state: 'running' }],
    [{ ref: 'a', state: 'on fire' }],
    [{ ref: 'a', state: 'gone', expiresAt: 'soon' }],
    [7],
  ])('the list of a control plane is rejected if it contains %j', async (entry) => {
    fixture.plane.listed = [entry];
    await expect(fixture.provider.list(fixture.machine)).rejects.toMatchObject({ fault: 'bad_answer' });
  });

  it('a control plane is not called at a private address', async () => {
    const guarded = new HttpMachines(new Outbound([]));
    await expect(guarded.start(fixture.machine)).rejects.toMatchObject({ fault: 'misconfigured', isPermanent: true });
    expect(fixture.plane.calls).toEqual([]);
  });

  it.each<[string, Partial<Machine>]>([
    ['no base URL', { providerConfig: { ref: 'a' } }],
    ['an invalid base URL', { providerConfig: { baseUrl: 'x', ref: 'a' } }],
    ['no ref', { providerConfig: { baseUrl: 'http://127.0.0.1:1' } }],
  ])('a control plane is not called if its configuration has %s', async (_, input) => {
    await expect(fixture.provider.start({ ...fixture.machine, ...input })).rejects.toMatchObject({ isPermanent: true });
  });
});
