// This test is long because it measures deliveries while one endpoint never answers.
// A short test of the same code: apps/standalone/src/webhooks/delivered.spec.ts
import { newId } from '@muster/platform';
import { type Harness, startHarness, type Tenant } from '@muster/testing';
import { standalone } from '../standalone';
import { Receiver } from './receiver.harness';

jest.setTimeout(180_000);

const organizations = 5;
const endpointsEach = 20;
const eventsEach = 6;
const rounds = 2;

describe('a hundred endpoints, one of which hangs', () => {
  let harness: Harness;
  let receiver: Receiver;
  const tenants: Tenant[] = [];
  const hanging = '/0/0';

  beforeAll(async () => {
    receiver = await Receiver.start();
    const env = { OUTBOUND_ALLOW: '127.0.0.1', RATE_LIMIT_PER_MINUTE: '100000' };
    harness = await startHarness({ ...standalone, env });
    for (let at = 0; at < organizations; at += 1) {
      const tenant = await harness.makeTenant();
      tenants.push(tenant);
      for (let each = 0; each < endpointsEach; each += 1) {
        const body = { url: `${receiver.url}/${at}/${each}`, events: ['agent.online'] };
        expect((await tenant.as.admin.post('/api/webhook-endpoints', body)).status).toBe(201);
      }
    }
  });
  afterAll(async () => {
    await harness.close();
    await receiver.stop();
  });

  async function createOnlineAgent({ as, worker }: Tenant): Promise<string> {
    const created = await as.admin.post('/api/agents', { name: newId(), provider: 'external' });
    const agentId = created.body.agent.id as string;
    await worker.post('/api/agents/handshake', { agentId, bootId: newId(), workerVersion: '1' });
    return agentId;
  }

  /** Returns the time in ms from each event to its delivery at the endpoints that answer. */
  async function measureLatencies(): Promise<number[]> {
    receiver.received.length = 0;
    for (let event = 0; event < eventsEach; event += 1) await Promise.all(tenants.map(createOnlineAgent));
    const others = Array.from({ length: organizations * endpointsEach }, (_, at) => {
      return `/${Math.floor(at / endpointsEach)}/${at % endpointsEach}`;
    }).filter((path) => path !== hanging);
    const deliveries = await Promise.all(others.map((path) => receiver.waitForDeliveries(path, eventsEach, 60_000)));
    return deliveries.flat().map(({ event, at }) => at - Date.parse(event.timestamp));
  }

  it('a webhook endpoint that hangs does not delay deliveries to other endpoints', async () => {
    const [without, withHanging]: [number[], number[]] = [[], []];
    await measureLatencies();
    for (let round = 0; round < rounds; round += 1) {
      receiver.answers.delete(hanging);
      without.push(...(await measureLatencies()));
      receiver.answers.set(hanging, () => undefined);
      withHanging.push(...(await measureLatencies()));
    }
    const figures = {
      without: computeP99(without),
      withHanging: computeP99(withHanging),
      deliveries: withHanging.length,
    };
    process.stdout.write(
      `webhooks: p99 of 99 endpoints, in ms, with and without one that hangs: ${JSON.stringify(figures)}\n`,
    );
    expect(withHanging).toHaveLength(rounds * eventsEach * (organizations * endpointsEach - 1));
    // An attempt at the hanging endpoint takes ten seconds. Other deliveries must not wait for it.
    expect(figures.withHanging).toBeLessThan(2 * figures.without + 1000);
  });
});

function computeP99(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length * 0.99)]!;
}
