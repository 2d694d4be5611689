import { listRequests, readRequests } from '@muster/testing';
import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { short } from '../short';
import type { GrowthFixture } from './fixture';

/** A request that is sent to both organizations; returns its duration in milliseconds. */
export interface Measure {
  name: string;
  /** Path of the request to the large organization, for requests that read a page. */
  path?: string;
  /** Sends the request of this round to one organization. */
  ask: (fixture: GrowthFixture, round: number) => Promise<number>;
}

/**
 * Every list with each of its filters, its second page, and all other reads. Both organizations get the same requests.
 */
export function listMeasures(small: GrowthFixture, large: GrowthFixture): Measure[] {
  const listAllPaths = ({ house }: GrowthFixture) => [...listRequests(house), ...readRequests(house)];
  const paths = new Map([small, large].map((fixture) => [fixture, listAllPaths(fixture)]));
  const names = replaceIdsWithNames(listAllPaths(large), large);
  return names.flatMap((name, at) => {
    const cursors = new Map<GrowthFixture, string | null>();
    // The short form measures a few of them, because all are requested in the same way.
    if (short && at % 15 > 0) return [];
    const first: Measure = {
      name,
      path: paths.get(large)![at]!,
      ask: async (fixture) => {
        const { ms, next } = await measureRead(fixture, paths.get(fixture)![at]!);
        cursors.set(fixture, next);
        return ms;
      },
    };
    const second: Measure = {
      name: `${name} (page 2)`,
      // If there is no second page, the first page is read again.
      ask: async (fixture) => {
        const [path, cursor] = [paths.get(fixture)![at]!, cursors.get(fixture)];
        const { ms } = await measureRead(
          fixture,
          cursor ? `${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}` : path,
        );
        return ms;
      },
    };
    return at < listRequests(large.house).length ? [first, second] : [first];
  });
}

export async function measureRead(fixture: GrowthFixture, path: string): Promise<{ ms: number; next: string | null }> {
  const who = path.startsWith('/api/admin') ? fixture.as.super_admin : fixture.as.admin;
  const began = performance.now();
  const { status, body, text } = await who.get<{ nextCursor?: string | null }>(path);
  const ms = performance.now() - began;
  // A 5xx response counts as a slow one and is printed.
  if (status >= 500) console.error(`  ${path} answered ${status} after ${Math.round(ms)} ms`);
  else if (status !== 200) throw new Error(`${path} answered ${status}: ${text.slice(0, 300)}`);
  return { ms, next: body?.nextCursor ?? null };
}

export const writes: Measure[] = [
  { name: 'POST /api/jobs/launch', ask: async (fixture) => (await measureLaunch(fixture, 0)).ms },
  {
    name: 'POST /api/agent/heartbeat',
    ask: async (fixture, round) => {
      const agents = await listOnlineAgents(fixture);
      const began = performance.now();
      await sendHeartbeat(fixture, agents[round % agents.length]!);
      return performance.now() - began;
    },
  },
  { name: 'SSE resume, to the first event', ask: (fixture) => measureResume(fixture) },
];

/** Time from a launch until its run command can be delivered. Needs the dispatchers. */
export const dispatch: Measure = {
  name: 'dispatch: from a launch to its command',
  ask: async (fixture, round) => {
    // Each round uses an agent without other launches.
    const place = 1 + round;
    await sendHeartbeat(fixture, (await listOnlineAgents(fixture))[place]!);
    const { jobId, began } = await measureLaunch(fixture, place);
    for (;;) {
      const { rows } = await fixture.client.query('SELECT FROM job WHERE id = $1 AND command_id IS NOT NULL', [jobId]);
      if (rows.length > 0) return performance.now() - began;
      if (performance.now() - began > 30_000) throw new Error('a run was not dispatched within 30 s');
      await delay(1);
    }
  },
};

async function measureLaunch(
  fixture: GrowthFixture,
  place: number,
): Promise<{ jobId: string; began: number; ms: number }> {
  const agents = await listOnlineAgents(fixture);
  const body = {
    workflowId: fixture.house.workflowIds.usual,
    agentId: agents[place],
    variables: { CLAIM_ID: 'C-1' },
  };
  const began = performance.now();
  const answer = await fixture.as.api.post('/api/jobs/launch', body);
  if (answer.status !== 202) throw new Error(`a launch answered ${answer.status}: ${answer.text}`);
  return { jobId: answer.body.jobId, began, ms: performance.now() - began };
}

async function sendHeartbeat(fixture: GrowthFixture, agentId: string): Promise<void> {
  const body = { agentId, bootId: 'boot', vmState: 'running', healthy: true, runningJobIds: [] };
  const worker = fixture.as.worker.at(fixture.ingest);
  const answer = await worker.post('/api/agent/heartbeat', body);
  if (answer.status !== 200) throw new Error(`a heartbeat answered ${answer.status}: ${answer.text}`);
}

const online = new WeakMap<GrowthFixture, Promise<string[]>>();

/** Agents without queued jobs that have been online since the organization was created. */
function listOnlineAgents(fixture: GrowthFixture): Promise<string[]> {
  const known = online.get(fixture);
  if (known) return known;
  const found = fixture.client
    .query<{ id: string }>(
      `SELECT id FROM agent a WHERE status = 'online' AND organization_id = $1
         AND NOT EXISTS (SELECT FROM job j WHERE j.agent_id = a.id AND j.status = 'queued') ORDER BY id LIMIT 100`,
      [fixture.house.organizationId],
    )
    .then(({ rows }) => rows.map(({ id }) => id));
  online.set(fixture, found);
  return found;
}

/** Time until the first event of the busy agent's stream, resumed a hundred entries before its end. */
async function measureResume(fixture: GrowthFixture): Promise<number> {
  const { house, client } = fixture;
  const { rows } = await client.query<{ seq: string }>(
    'SELECT last_seq - 100 AS seq FROM timeline_head WHERE agent_id = $1',
    [house.agentIds.busy],
  );
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const url = `${fixture.gateway}/api/agents/${house.agentIds.busy}/events?lastEventId=${rows[0]!.seq}`;
    const request = get(url, { headers: fixture.as.api.headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (!/^id: \d+$/m.test(text)) return;
        request.destroy();
        resolve(performance.now() - began);
      });
      if (response.statusCode !== 200) reject(new Error(`a stream answered ${response.statusCode}`));
    });
    request.on('error', reject);
  });
}

/** Readable names of the requests, with placeholders for ids. */
function replaceIdsWithNames(paths: string[], { house }: GrowthFixture): string[] {
  const { agentIds, workflowIds, scheduleIds, batchId, longJobId, organizationId } = house;
  const names: [string, string][] = [
    [agentIds.busy, '<busy agent>'],
    [agentIds.rare, '<rare agent>'],
    [workflowIds.usual, '<usual workflow>'],
    [workflowIds.rare, '<rare workflow>'],
    [scheduleIds.usual, '<usual schedule>'],
    [scheduleIds.rare, '<rare schedule>'],
    [batchId, '<batch>'],
    [longJobId, '<long run>'],
    [organizationId, '<organization>'],
  ];
  return paths.map((path) =>
    names.reduce((text, [id, name]) => text.replaceAll(id, name), path.replaceAll(/T\d\d:[\d:.]+Z/g, '')),
  );
}
