import { failSilentAgents } from '@muster/machines';
import { newId } from '@muster/platform';
import { type Harness, HttpClient, makeAgent, makeApiKey, startHarness } from '@muster/testing';
import { ingest } from '../ingest.harness';

describe('reports of machines', () => {
  let harness: Harness;
  let organizationId: string;
  let worker: HttpClient;
  const query = (text: string, values: unknown[] = []) => harness.db.query<any>('system', text, values);
  const readAgent = async (id: string) => (await query('SELECT * FROM agent WHERE id = $1', [id]))[0];
  const readTimeline = (id: string) =>
    query('SELECT kind, message, source, data FROM timeline_entry WHERE agent_id = $1 ORDER BY seq', [id]);

  const makeMachine = async (columns: Record<string, unknown> = {}) => {
    const { id } = await makeAgent(harness.db, { organizationId, name: newId() });
    for (const [column, value] of Object.entries({ status: 'online', boot_id: 'boot-1', ...columns })) {
      await query(`UPDATE agent SET ${column} = $2 WHERE id = $1`, [id, value]);
    }
    return id;
  };
  const sendBeat = (agentId: string, body: object = {}, client = worker) =>
    client.post('/api/agent/heartbeat', { agentId, bootId: 'boot-1', ...body });
  const sendHandshake = (agentId: string, body: object = {}, client = worker) =>
    client.post('/api/agents/handshake', { agentId, bootId: 'boot-2', workerVersion: '1.4.0', ...body });
  const makeJob = async (agentId: string, status: string) => {
    const [workflowId, jobId] = [newId(), newId()];
    await query(`INSERT INTO workflow (id, organization_id, name) VALUES ($1, $2, 'w')`, [workflowId, organizationId]);
    await query(
      `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status)
       VALUES ($1, $2, $3, 1, $4, $5)`,
      [jobId, organizationId, workflowId, agentId, status],
    );
    return jobId;
  };
  const makeOrganization = async () => {
    const id = newId();
    await query(`INSERT INTO organization (id, name) VALUES ($1, 'o')`, [id]);
    await query('INSERT INTO organization_settings (organization_id) VALUES ($1)', [id]);
    const key = await makeApiKey(harness.db, { organizationId: id, scope: 'worker' });
    return { id, worker: harness.http.withKey(key.secret) };
  };

  beforeAll(async () => {
    harness = await startHarness({ ...ingest, env: { HEARTBEAT_SECONDS: '7' } });
    ({ id: organizationId, worker } = await makeOrganization());
  });
  afterAll(() => harness.close());

  describe('a heartbeat', () => {
    it('every heartbeat updates the last seen time, but only one with activity updates the last activity', async () => {
      const id = await makeMachine();
      const answer = await sendBeat(id, {
        vmState: 'running',
        vmIp: '10.0.0.9',
        workerVersion: '2.0',
        tunnelHostname: 't.example.com',
      });
      expect([answer.status, answer.body]).toEqual([
        200,
        { status: 'online', serverTime: expect.stringMatching(/Z$/), pendingCommands: 0, abandon: [] },
      ]);
      const quiet = await readAgent(id);
      expect(quiet).toMatchObject({
        vmState: 'running',
        vmIp: '10.0.0.9',
        workerVersion: '2.0',
        tunnelUrl: 'https://t.example.com',
        publicTunnelUrl: 'https://t.example.com',
        tunnelHostname: 't.example.com',
        lastActivityAt: null,
      });
      expect(Date.now() - quiet.lastSeen.getTime()).toBeLessThan(60_000);
      await sendBeat(id, { activity: true });
      const active = await readAgent(id);
      expect(active.lastActivityAt).toBeInstanceOf(Date);
      expect(active.tunnelUrl).toBe('https://t.example.com');
    });

    it('a heartbeat with running jobs counts as activity; the response lists ended and foreign jobs to abandon', async () => {
      const id = await makeMachine();
      const other = await makeMachine();
      const [running, over, foreign, unknown] = [
        await makeJob(id, 'running'),
        await makeJob(id, 'cancelled'),
        await makeJob(other, 'queued'),
        newId(),
      ];
      await query('UPDATE agent SET current_job_id = $2 WHERE id = $1', [id, running]);
      const { body } = await sendBeat(id, { runningJobIds: [running, over, foreign, unknown, 'no-id'] });
      expect(body.abandon.sort()).toEqual([over, foreign, unknown, 'no-id'].sort());
      expect((await readAgent(id)).lastActivityAt).toBeInstanceOf(Date);
    });

    it('a heartbeat with an ended run updates the time of the last activity, but not the reason for it', async () => {
      const id = await makeMachine();
      const over = await makeJob(id, 'completed');
      const before = new Date('2026-03-02T09:00:00Z');
      await query('UPDATE agent SET last_activity = $2, last_activity_at = $3 WHERE id = $1', [
        id,
        'a run ended',
        before,
      ]);
      const { body } = await sendBeat(id, { activity: false, runningJobIds: [over] });
      expect(body.abandon).toEqual([over]);
      const { lastActivity, lastActivityAt } = await readAgent(id);
      expect(lastActivity).toBe('a run ended');
      expect(lastActivityAt!.getTime()).toBeGreaterThan(before.getTime());
    });

    it('a heartbeat returns the number of pending commands', async () => {
      const id = await makeMachine();
      const insertSnippetCommand = (columns: string) =>
        query(
          `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, deadline, taken_at, status)
           VALUES ($1, $2, $3, 'snippet', '{}', ${columns})`,
          [newId(), organizationId, id],
        );
      await insertSnippetCommand(`now() + interval '1 minute', NULL, 'pending'`);
      await insertSnippetCommand(`now() + interval '1 minute', now(), 'pending'`);
      await insertSnippetCommand(`now() + interval '1 minute', NULL, 'success'`);
      await insertSnippetCommand(`now() - interval '1 minute', NULL, 'pending'`);
      expect((await sendBeat(id)).body.pendingCommands).toBe(1);
    });

    it('an agent becomes offline after three unhealthy heartbeats in a row, and online again after a healthy one', async () => {
      const id = await makeMachine();
      const statuses = [];
      for (const healthy of [false, false, true, false, false, false, false]) {
        statuses.push((await sendBeat(id, { healthy })).body.status);
      }
      expect(statuses).toEqual(['online', 'online', 'online', 'online', 'online', 'offline', 'offline']);
      expect((await sendBeat(id, { healthy: true })).body.status).toBe('online');
      const entries = await readTimeline(id);
      expect(entries.map(({ kind, message }) => [kind, message])).toEqual([
        ['status', 'online → offline: unhealthy 3 times in a row'],
        ['status', 'offline → online: healthy again after 4 unhealthy checks'],
        ['provisioning', expect.stringContaining('Auto-recovery')],
      ]);
      const enqueued = await query(`SELECT name FROM outbox WHERE payload->>'agentId' = $1`, [id]);
      expect(enqueued.map(({ name }) => name).sort()).toEqual(['dispatch-agent', 'recover-agent']);
    });

    it('an offline agent becomes online with a heartbeat, or draining if the agent is being drained', async () => {
      const id = await makeMachine({ status: 'offline' });
      expect((await sendBeat(id)).body.status).toBe('online');
      const draining = await makeMachine({ status: 'offline', drain: 'finish' });
      expect((await sendBeat(draining)).body.status).toBe('draining');
    });

    it('the status of an offline agent changes to online once if several heartbeats arrive concurrently', async () => {
      const id = await makeMachine({ status: 'offline' });
      await Promise.all(Array.from({ length: 10 }, () => sendBeat(id)));
      expect((await readTimeline(id)).filter(({ kind }) => kind === 'status')).toHaveLength(1);
    });

    it('a heartbeat moves a starting agent to online, unless a stop has ended the boot that sent the heartbeat', async () => {
      expect((await sendBeat(await makeMachine({ status: 'starting' }))).body.status).toBe('online');
      const id = await makeMachine({ status: 'starting', ended_boots: ['boot-1'] });
      for (const answer of [await sendBeat(id), await sendHandshake(id, { bootId: 'boot-1' })]) {
        expect([answer.status, answer.body.code, answer.body.agentStatus]).toEqual([409, 'conflict', 'starting']);
      }
      expect((await readAgent(id)).status).toBe('starting');
      expect((await sendHandshake(id)).body.status).toBe('online');
    });

    it.each(['stopping', 'rebooting', 'stopped'])('an agent stays %s despite heartbeats', async (status) => {
      const id = await makeMachine({ status });
      expect((await sendBeat(id)).body.status).toBe(status);
      expect((await readAgent(id)).status).toBe(status);
    });

    it('a heartbeat of another boot or of a terminated agent is refused and changes nothing', async () => {
      for (const columns of [{ boot_id: 'boot-0' }, { boot_id: null }, { status: 'terminated' }]) {
        const id = await makeMachine(columns);
        const answer = await sendBeat(id, { activity: true });
        expect([answer.status, answer.body.code]).toEqual([409, 'conflict']);
        expect((await readAgent(id)).lastSeen).toBeNull();
      }
    });

    it('a heartbeat may have unknown fields, but no invalid values', async () => {
      const id = await makeMachine();
      expect((await sendBeat(id, { fromTheFuture: 1, metrics: { cpu: 0.5 }, vmIp: null })).status).toBe(200);
      for (const bad of [{ bootId: 7 }, { tunnelHostname: 'a b' }, { tunnelHostname: 'ftp://a' }, { healthy: 'yes' }]) {
        expect((await sendBeat(id, bad)).status).toBe(400);
      }
    });

    it('a heartbeat needs a worker key of its organization that is not bound to another agent', async () => {
      const [own, sibling] = [await makeMachine(), await makeMachine()];
      const bound = harness.http.withKey(
        (await makeApiKey(harness.db, { organizationId, scope: 'worker', agentId: own })).secret,
      );
      expect((await sendBeat(own, {}, bound)).status).toBe(200);
      expect((await sendBeat(sibling, {}, bound)).status).toBe(403);
      const other = await makeOrganization();
      expect((await sendBeat(own, {}, other.worker)).body.code).toBe('agent_not_found');
      const api = harness.http.withKey((await makeApiKey(harness.db, { organizationId, scope: 'api' })).secret);
      expect((await sendBeat(own, {}, api)).status).toBe(403);
    });
  });

  describe('a handshake', () => {
    it('a handshake replaces the machine’s capabilities, or makes them unknown if it contains none', async () => {
      const id = await makeMachine();
      const has = { name: 'python', available: true, detail: '3.11.2' };
      const lacks = { name: 'pillow', available: false, detail: null };
      const machineCapabilities = [{ ...has, more: 'of a newer worker' }, lacks, { ...lacks, name: 'robot_arm' }];
      expect((await sendHandshake(id, { machineCapabilities })).status).toBe(200);
      expect((await readAgent(id)).capabilities).toEqual([has, lacks, { ...lacks, name: 'robot_arm' }]);
      expect((await sendHandshake(id)).status).toBe(200);
      expect((await readAgent(id)).capabilities).toBeNull();
    });

    it('a handshake sets its agent’s status to online and returns the heartbeat interval and the signing secret', async () => {
      const id = await makeMachine({ status: 'offline', boot_id: null, unhealthy_checks: 5 });
      const answer = await sendHandshake(id, { tunnelHostname: 'https://t.example.com/a1/', hostname: 'pc-1' });
      expect([answer.status, answer.body]).toEqual([
        200,
        {
          agentId: id,
          organizationId,
          status: 'online',
          heartbeatSeconds: 7,
          signingSecret: expect.stringMatching(/^mss_/),
        },
      ]);
      expect(await readAgent(id)).toMatchObject({
        status: 'online',
        statusSource: 'handshake',
        bootId: 'boot-2',
        workerVersion: '1.4.0',
        unhealthyChecks: 0,
        tunnelUrl: 'https://t.example.com/a1',
        publicTunnelUrl: 'https://t.example.com/a1',
        tunnelHostname: 'https://t.example.com/a1/',
        lastSeen: expect.any(Date),
        lastActivityAt: expect.any(Date),
      });
      expect((await readTimeline(id)).map(({ kind }) => kind)).toEqual(['provisioning', 'status']);
      const enqueued = await query(`SELECT name FROM outbox WHERE payload->>'agentId' = $1`, [id]);
      expect(enqueued.map(({ name }) => name)).toContain('dispatch-agent');
      expect((await sendBeat(id, { bootId: 'boot-2' })).status).toBe(200);
      expect((await sendBeat(id, { bootId: 'boot-1' })).status).toBe(409);
    });

    it.each(['stopping', 'terminated'])('a handshake is refused if its agent is %s', async (status) => {
      const id = await makeMachine({ status });
      const answer = await sendHandshake(id);
      expect([answer.status, answer.body.agentStatus]).toEqual([409, status]);
      expect((await readAgent(id)).bootId).toBe('boot-1');
    });

    it('a handshake ends a reboot only if it is from a new boot', async () => {
      const id = await makeMachine({ status: 'rebooting' });
      expect((await sendHandshake(id, { bootId: 'boot-1' })).body.status).toBe('rebooting');
      expect((await sendHandshake(id, { bootId: 'boot-2' })).body.status).toBe('online');
    });

    it('a handshake that the same boot repeats changes nothing', async () => {
      const id = await makeMachine({ status: 'offline' });
      await sendHandshake(id);
      const { statusSince: since } = await readAgent(id);
      await sendHandshake(id);
      expect((await readAgent(id)).statusSince).toEqual(since);
      expect((await readTimeline(id)).filter(({ kind }) => kind === 'status')).toHaveLength(1);
    });

    it('a refused handshake of a superseded boot does not end the current boot', async () => {
      const id = await makeMachine();
      await sendHandshake(id);
      const late = await sendHandshake(id, { bootId: 'boot-1' });
      expect([late.status, late.body.boot]).toEqual([409, 'superseded']);
      for (let number = 3; number < 20; number += 1) await sendHandshake(id, { bootId: `boot-${number}` });
      expect((await sendHandshake(id, { bootId: 'boot-18' })).status).toBe(409);
      expect((await sendBeat(id, { bootId: 'boot-19' })).status).toBe(200);
      expect((await readAgent(id)).endedBoots).toHaveLength(8);
    });

    it('a handshake sets the status of an agent that is being drained to draining', async () => {
      const id = await makeMachine({ status: 'offline', drain: 'finish' });
      expect((await sendHandshake(id)).body.status).toBe('draining');
    });

    it('a handshake without a tunnel does not change the agent’s tunnel', async () => {
      const id = await makeMachine({
        tunnel_url: 'https://old.example.com',
        public_tunnel_url: 'https://old.example.com',
      });
      await sendHandshake(id);
      expect((await readAgent(id)).publicTunnelUrl).toBe('https://old.example.com');
    });

    it('a handshake for another organization’s agent fails with the same error as for an unknown agent', async () => {
      const other = await makeOrganization();
      const id = await makeMachine();
      for (const answer of [await sendHandshake(newId()), await sendHandshake(id, {}, other.worker)]) {
        expect([answer.status, answer.body.code]).toEqual([404, 'agent_not_found']);
      }
    });
  });

  describe('a setup status', () => {
    it('a setup status is recorded in the timeline, and sets the agent’s tunnel if it names one', async () => {
      const id = await makeMachine({ status: 'starting', boot_id: null });
      const post = (body: object) => worker.post('/api/agent/setup-status', { agentId: id, phase: 'install', ...body });
      expect((await post({ status: 'done', message: 'v1', tunnelUrl: 'https://t2.example.com' })).body).toEqual({
        success: true,
      });
      await post({ status: 'failed' });
      expect(await readAgent(id)).toMatchObject({
        status: 'starting',
        tunnelUrl: 'https://t2.example.com',
        publicTunnelUrl: 'https://t2.example.com',
      });
      expect((await readTimeline(id)).map(({ kind, message }) => [kind, message])).toEqual([
        ['provisioning', 'install: done: v1'],
        ['provisioning', 'install: failed'],
      ]);
    });

    it('a setup status of a terminated agent is refused and changes nothing', async () => {
      const id = await makeMachine({ status: 'terminated' });
      const body = { agentId: id, phase: 'install', status: 'done', tunnelUrl: 'https://t2.example.com' };
      expect((await worker.post('/api/agent/setup-status', body)).status).toBe(409);
      expect((await readAgent(id)).tunnelUrl).toBeNull();
      expect(await readTimeline(id)).toEqual([]);
    });
  });

  describe('a silent machine', () => {
    it('the status of a silent agent changes to offline once if several replicas check it concurrently', async () => {
      const [silent, recent, gone] = [
        await makeMachine(),
        await makeMachine(),
        await makeMachine({ status: 'stopped' }),
      ];
      await query(
        `UPDATE agent SET last_seen = now() - interval '2 minutes', status_since = now() - interval '2 minutes'
         WHERE id = ANY($1)`,
        [[silent, gone]],
      );
      await Promise.all([1, 2, 3].map(() => failSilentAgents(harness.db, { offlineAfterMs: 60_000 })));
      const statuses = await Promise.all([silent, recent, gone].map(async (id) => (await readAgent(id)).status));
      expect(statuses).toEqual(['offline', 'online', 'stopped']);
      expect(await readTimeline(silent)).toMatchObject([{ kind: 'status', source: 'watchdog' }]);
    });
  });
});
