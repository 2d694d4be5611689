import { type CommandKind, type CommandResultBody } from '@muster/contracts';
import { type Database, DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { failOverdueCommands } from '../ends/fail-commands';
import { issueCommand } from '../requests/issue-command';
import { storeCommandResult } from '../ends/receive-result';
import { applyHandshake } from '../reports/apply-machine-reports';
import { insertRecording, markRecordingStopping } from './request-recording';

interface RecordingRequest {
  recordingId: string;
  commandId: string;
}

describe('a recording', () => {
  let harness: Harness;
  let db: Database;
  let agentRef: { organizationId: string; agentId: string };

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    ({ db } = harness);
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    const { id: organizationId } = await makeOrganization(db);
    const { id: agentId } = await makeAgent(db, { organizationId, status: 'online', bootId: 'boot-1' });
    agentRef = { organizationId, agentId };
  });

  const ask = (kind: CommandKind, recordingId: string) =>
    db.transaction({ organizationId: agentRef.organizationId }, async (tx) => {
      if (kind === 'stop_recording') await markRecordingStopping(tx, { ...agentRef, recordingId });
      const deadline = new Date(Date.now() + 60_000);
      const commandId = await issueCommand(tx, { ...agentRef, kind, payload: { recordingId }, deadline });
      if (kind === 'start_recording') insertRecording(tx, { ...agentRef, recordingId }, {});
      return { recordingId, commandId };
    });
  const start = () => ask('start_recording', newId());
  const stop = ({ recordingId }: RecordingRequest) => ask('stop_recording', recordingId);
  const result = ({ commandId }: RecordingRequest, body: CommandResultBody) =>
    storeCommandResult(db, { ...agentRef, commandId }, body);
  const succeeds = (request: RecordingRequest, output: object = {}) => result(request, { status: 'success', output });
  const fails = (request: RecordingRequest, error: string) => result(request, { status: 'failed', error });
  const take = ({ commandId }: RecordingRequest) =>
    db.query('system', 'UPDATE agent_command SET taken_at = now() WHERE id = $1', [commandId]);
  const timeOut = async ({ commandId }: RecordingRequest) => {
    await db.query('system', `UPDATE agent_command SET deadline = now() - interval '1 second' WHERE id = $1`, [
      commandId,
    ]);
    await failOverdueCommands(db);
  };
  const handshake = (bootId: string) =>
    db.transaction({ organizationId: agentRef.organizationId }, (tx) =>
      applyHandshake(tx, agentRef.organizationId, { agentId: agentRef.agentId, bootId, workerVersion: '1.4.0' }),
    );
  const sent = async (agentId = agentRef.agentId) => {
    const [id, key] = [newId(), `artifacts/${newId()}`];
    await db.query(
      'system',
      `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
       VALUES ($1, $2, $3, 'video', 'film.mkv', 'video/x-matroska', 4, $4)`,
      [id, agentRef.organizationId, agentId, key],
    );
    return { id, key };
  };
  const rowOf = async ({ recordingId }: RecordingRequest) =>
    (await db.query<Record<string, any>>('system', 'SELECT * FROM recording WHERE id = $1', [recordingId]))[0]!;
  const stateOf = async (request: RecordingRequest) => {
    const { status, error, startedAt, endedAt } = await rowOf(request);
    return { status, error, began: startedAt !== null, over: endedAt !== null };
  };
  const failed = (error: string, began = false) => ({ status: 'failed', error, began, over: true });
  const restarted = 'The worker was restarted while it recorded.';

  it('a recording is inserted only together with its command', async () => {
    const recordingId = newId();
    const broken = db.transaction({ organizationId: agentRef.organizationId }, async (tx) => {
      await issueCommand(tx, { ...agentRef, kind: 'start_recording', payload: { recordingId }, deadline: new Date() });
      insertRecording(tx, { ...agentRef, recordingId }, { name: 'Monday' });
      throw new Error('later');
    });
    await expect(broken).rejects.toThrow('later');
    expect(await db.query('system', 'SELECT FROM recording WHERE id = $1', [recordingId])).toEqual([]);
  });

  it('a recording’s status changes with the results of its commands', async () => {
    const recording = await start();
    expect(await stateOf(recording)).toEqual({ status: 'starting', error: null, began: false, over: false });
    await succeeds(recording);
    expect(await stateOf(recording)).toEqual({ status: 'recording', error: null, began: true, over: false });
    const ending = await stop(recording);
    expect((await stateOf(recording)).status).toBe('stopping');
    const { id, key } = await sent();
    await succeeds(ending, { key });
    expect(await rowOf(recording)).toMatchObject({
      status: 'kept',
      error: null,
      artifactId: id,
      endedAt: expect.any(Date),
    });
  });

  it('a browser recording is stored with its kind and its events, with or without a video', async () => {
    const [filmed, unfilmed] = [await start(), await start()];
    for (const recording of [filmed, unfilmed]) await succeeds(recording, { kind: 'browser' });
    const [video, events, others] = [await sent(), await sent(), await sent()];
    await succeeds(await stop(filmed), { key: video.key, video: video.key, events: events.key });
    await succeeds(await stop(unfilmed), { key: others.key, events: others.key });
    expect(await rowOf(filmed)).toMatchObject({
      status: 'kept',
      kind: 'browser',
      artifactId: video.id,
      eventsArtifactId: events.id,
    });
    expect(await rowOf(unfilmed)).toMatchObject({
      status: 'kept',
      kind: 'browser',
      artifactId: null,
      eventsArtifactId: others.id,
    });
  });

  it('a recording fails with the error of its failed command', async () => {
    const [neverBegan, notSent] = [await start(), await start()];
    await fails(neverBegan, 'recording is not available on this machine');
    expect(await stateOf(neverBegan)).toEqual(failed('recording is not available on this machine'));
    await succeeds(notSent);
    await fails(await stop(notSent), 'the recording could not be sent: answered 413');
    expect(await stateOf(notSent)).toEqual(failed('the recording could not be sent: answered 413', true));
  });

  it('a recording fails if the result of its stop names no file of this agent', async () => {
    const { id: otherId } = await makeAgent(db, { organizationId: agentRef.organizationId, name: newId() });
    for (const output of [{}, { key: 'no such' }, { key: (await sent(otherId)).key }]) {
      const recording = await start();
      await succeeds(recording);
      await succeeds(await stop(recording), output);
      expect(await stateOf(recording)).toEqual(failed('The worker named no file that it had sent.', true));
    }
  });

  it('a recording is stored once, whatever the order in which the results of its commands arrive', async () => {
    const recording = await start();
    const ending = await stop(recording);
    const { key } = await sent();
    await succeeds(ending, { key });
    const stored = await rowOf(recording);
    expect((await succeeds(ending, { key: (await sent()).key })).accepted).toBe(false);
    expect((await fails(recording, 'too late')).accepted).toBe(true);
    await succeeds(recording);
    expect(await rowOf(recording)).toEqual(stored);
    expect(stored['status']).toBe('kept');
  });

  it('the late result of a start command does not change the status of a recording that is being stopped', async () => {
    const recording = await start();
    const ending = await stop(recording);
    await succeeds(recording);
    expect(await stateOf(recording)).toEqual({ status: 'stopping', error: null, began: true, over: false });
    await fails(ending, 'gone');
    expect(await stateOf(recording)).toEqual(failed('gone', true));
  });

  it('a recording that never started fails, even if its stop is pending', async () => {
    const recording = await start();
    const ending = await stop(recording);
    await fails(recording, 'no screen');
    await fails(ending, 'there is no such recording here');
    expect(await stateOf(recording)).toEqual(failed('no screen'));
  });

  it('a recording whose command timed out fails permanently', async () => {
    const [untaken, taken, unstopped] = [await start(), await start(), await start()];
    await take(taken);
    await timeOut(untaken);
    await timeOut(taken);
    expect(await stateOf(untaken)).toEqual(failed('The agent did not accept the command in time.'));
    expect(await stateOf(taken)).toEqual(failed('The agent did not finish the command in time.'));
    await succeeds(unstopped);
    const ending = await stop(unstopped);
    await timeOut(ending);
    const row = await rowOf(unstopped);
    expect(row).toMatchObject({ status: 'failed', error: 'The agent did not accept the command in time.' });
    expect((await succeeds(ending, { key: (await sent()).key })).accepted).toBe(false);
    await succeeds(taken);
    expect(await rowOf(unstopped)).toEqual(row);
    expect((await stateOf(taken)).status).toBe('failed');
  });

  it('a recording whose start timed out is stored if its stop succeeds', async () => {
    const recording = await start();
    const ending = await stop(recording);
    await timeOut(recording);
    expect((await stateOf(recording)).status).toBe('stopping');
    await succeeds(ending, { key: (await sent()).key });
    expect((await stateOf(recording)).status).toBe('kept');
  });

  it('a new boot of the worker fails the recordings that the previous boot was making', async () => {
    const [running, taken, waiting, stopping, saved] = [
      await start(),
      await start(),
      await start(),
      await start(),
      await start(),
    ];
    for (const recording of [running, stopping, saved]) await succeeds(recording);
    await take(taken);
    const ending = await stop(stopping);
    await succeeds(await stop(saved), { key: (await sent()).key });
    await handshake('boot-1');
    expect((await stateOf(running)).status).toBe('recording');
    await handshake('boot-2');
    expect(await stateOf(running)).toEqual(failed(restarted, true));
    expect(await stateOf(taken)).toEqual(failed(restarted));
    expect((await stateOf(saved)).status).toBe('kept');
    // The start command of this recording is still undelivered, so the next boot executes it.
    expect((await stateOf(waiting)).status).toBe('starting');
    await succeeds(waiting);
    expect((await stateOf(waiting)).status).toBe('recording');
    // The late result of the previous boot's start command changes nothing.
    await succeeds(taken);
    expect((await stateOf(taken)).status).toBe('failed');
    // The previous boot uploaded the file before it ended. The next boot sends the result.
    expect((await stateOf(stopping)).status).toBe('stopping');
    await succeeds(ending, { key: (await sent()).key });
    expect((await stateOf(stopping)).status).toBe('kept');
  });

  it('handshakes and results of another agent do not change a recording', async () => {
    const running = await start();
    await succeeds(running);
    const { id: otherId } = await makeAgent(db, {
      organizationId: agentRef.organizationId,
      name: newId(),
      status: 'online',
    });
    const mine = agentRef;
    agentRef = { ...agentRef, agentId: otherId };
    await handshake('boot-2');
    const posing = await db.transaction('system', (tx) =>
      issueCommand(tx, {
        ...agentRef,
        kind: 'start_recording',
        payload: { recordingId: running.recordingId },
        deadline: new Date(),
      }),
    );
    await fails({ ...running, commandId: posing }, 'not ours');
    agentRef = mine;
    expect((await stateOf(running)).status).toBe('recording');
  });
});
