import { type CommandKind, type CommandResultBody } from '@muster/contracts';
import { type Database, DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeAgent, makeOrganization, startHarness } from '@muster/testing';
import { failOverdueCommands } from '../commands/fail-commands';
import { issueCommand } from '../commands/issue-command';
import { receiveResult } from '../commands/receive-result';
import { takeHandshake } from '../reports/take-handshake';
import { beginRecording, endRecording } from './ask-recording';

interface Asked {
  recordingId: string;
  commandId: string;
}

describe('a recording', () => {
  let harness: Harness;
  let db: Database;
  let of: { organizationId: string; agentId: string };

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    ({ db } = harness);
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    const { id: organizationId } = await makeOrganization(db);
    const { id: agentId } = await makeAgent(db, { organizationId, status: 'online', bootId: 'boot-1' });
    of = { organizationId, agentId };
  });

  const ask = (kind: CommandKind, recordingId: string) =>
    db.transaction({ organizationId: of.organizationId }, async (tx) => {
      if (kind === 'stop_recording') await endRecording(tx, { ...of, recordingId });
      const deadline = new Date(Date.now() + 60_000);
      const commandId = await issueCommand(tx, { ...of, kind, payload: { recordingId }, deadline });
      if (kind === 'start_recording') beginRecording(tx, { ...of, recordingId }, {});
      return { recordingId, commandId };
    });
  const start = () => ask('start_recording', newId());
  const stop = ({ recordingId }: Asked) => ask('stop_recording', recordingId);
  const result = ({ commandId }: Asked, body: CommandResultBody) => receiveResult(db, { ...of, commandId }, body);
  const succeeds = (asked: Asked, output: object = {}) => result(asked, { status: 'success', output });
  const fails = (asked: Asked, error: string) => result(asked, { status: 'failed', error });
  const take = ({ commandId }: Asked) =>
    db.query('system', 'UPDATE agent_command SET taken_at = now() WHERE id = $1', [commandId]);
  const timeOut = async ({ commandId }: Asked) => {
    await db.query('system', `UPDATE agent_command SET deadline = now() - interval '1 second' WHERE id = $1`, [
      commandId,
    ]);
    await failOverdueCommands(db);
  };
  const handshake = (bootId: string) =>
    db.transaction({ organizationId: of.organizationId }, (tx) =>
      takeHandshake(tx, of.organizationId, { agentId: of.agentId, bootId, workerVersion: '1.4.0' }),
    );
  const sent = async (agentId = of.agentId) => {
    const [id, key] = [newId(), `artifacts/${newId()}`];
    await db.query(
      'system',
      `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
       VALUES ($1, $2, $3, 'video', 'film.mkv', 'video/x-matroska', 4, $4)`,
      [id, of.organizationId, agentId, key],
    );
    return { id, key };
  };
  const rowOf = async ({ recordingId }: Asked) =>
    (await db.query<Record<string, any>>('system', 'SELECT * FROM recording WHERE id = $1', [recordingId]))[0]!;
  const stateOf = async (asked: Asked) => {
    const { status, error, startedAt, endedAt } = await rowOf(asked);
    return { status, error, began: startedAt !== null, over: endedAt !== null };
  };
  const failed = (error: string, began = false) => ({ status: 'failed', error, began, over: true });
  const restarted = 'The worker was restarted while it recorded.';

  it('inserts a recording only together with its command', async () => {
    const recordingId = newId();
    const broken = db.transaction({ organizationId: of.organizationId }, async (tx) => {
      await issueCommand(tx, { ...of, kind: 'start_recording', payload: { recordingId }, deadline: new Date() });
      beginRecording(tx, { ...of, recordingId }, { name: 'Monday' });
      throw new Error('later');
    });
    await expect(broken).rejects.toThrow('later');
    expect(await db.query('system', 'SELECT FROM recording WHERE id = $1', [recordingId])).toEqual([]);
  });

  it('moves a recording with the results of its commands', async () => {
    const begun = await start();
    expect(await stateOf(begun)).toEqual({ status: 'starting', error: null, began: false, over: false });
    await succeeds(begun);
    expect(await stateOf(begun)).toEqual({ status: 'recording', error: null, began: true, over: false });
    const ending = await stop(begun);
    expect((await stateOf(begun)).status).toBe('stopping');
    const { id, key } = await sent();
    await succeeds(ending, { key });
    expect(await rowOf(begun)).toMatchObject({
      status: 'kept',
      error: null,
      artifactId: id,
      endedAt: expect.any(Date),
    });
  });

  it('stores the events of a browser recording, with or without a video, and its kind', async () => {
    const [filmed, unfilmed] = [await start(), await start()];
    for (const begun of [filmed, unfilmed]) await succeeds(begun, { kind: 'browser' });
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

  it('fails a recording with the error of its failed command', async () => {
    const [neverBegan, notSent] = [await start(), await start()];
    await fails(neverBegan, 'recording is not available on this machine');
    expect(await stateOf(neverBegan)).toEqual(failed('recording is not available on this machine'));
    await succeeds(notSent);
    await fails(await stop(notSent), 'the recording could not be sent: answered 413');
    expect(await stateOf(notSent)).toEqual(failed('the recording could not be sent: answered 413', true));
  });

  it('fails a recording if its stop names no file of this agent', async () => {
    const { id: otherId } = await makeAgent(db, { organizationId: of.organizationId, name: newId() });
    for (const output of [{}, { key: 'no such' }, { key: (await sent(otherId)).key }]) {
      const begun = await start();
      await succeeds(begun);
      await succeeds(await stop(begun), output);
      expect(await stateOf(begun)).toEqual(failed('The worker named no file that it had sent.', true));
    }
  });

  it('stores a recording once, with its results in any order', async () => {
    const begun = await start();
    const ending = await stop(begun);
    const { key } = await sent();
    await succeeds(ending, { key });
    const kept = await rowOf(begun);
    expect((await succeeds(ending, { key: (await sent()).key })).accepted).toBe(false);
    expect((await fails(begun, 'too late')).accepted).toBe(true);
    await succeeds(begun);
    expect(await rowOf(begun)).toEqual(kept);
    expect(kept['status']).toBe('kept');
  });

  it('does not move a stopping recording back with the result of its start', async () => {
    const begun = await start();
    const ending = await stop(begun);
    await succeeds(begun);
    expect(await stateOf(begun)).toEqual({ status: 'stopping', error: null, began: true, over: false });
    await fails(ending, 'gone');
    expect(await stateOf(begun)).toEqual(failed('gone', true));
  });

  it('fails a recording that never started, even if its stop is pending', async () => {
    const begun = await start();
    const ending = await stop(begun);
    await fails(begun, 'no screen');
    await fails(ending, 'there is no such recording here');
    expect(await stateOf(begun)).toEqual(failed('no screen'));
  });

  it('fails a recording whose command timed out, permanently', async () => {
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

  it('leaves a stopping recording to its stop if its start timed out', async () => {
    const begun = await start();
    const ending = await stop(begun);
    await timeOut(begun);
    expect((await stateOf(begun)).status).toBe('stopping');
    await succeeds(ending, { key: (await sent()).key });
    expect((await stateOf(begun)).status).toBe('kept');
  });

  it('ends a recording with the boot of its worker', async () => {
    const [running, taken, waiting, stopping, kept] = [
      await start(),
      await start(),
      await start(),
      await start(),
      await start(),
    ];
    for (const begun of [running, stopping, kept]) await succeeds(begun);
    await take(taken);
    const ending = await stop(stopping);
    await succeeds(await stop(kept), { key: (await sent()).key });
    await handshake('boot-1');
    expect((await stateOf(running)).status).toBe('recording');
    await handshake('boot-2');
    expect(await stateOf(running)).toEqual(failed(restarted, true));
    expect(await stateOf(taken)).toEqual(failed(restarted));
    expect((await stateOf(kept)).status).toBe('kept');
    // The next boot starts this one.
    expect((await stateOf(waiting)).status).toBe('starting');
    await succeeds(waiting);
    expect((await stateOf(waiting)).status).toBe('recording');
    // The late result of the previous boot's start changes nothing.
    await succeeds(taken);
    expect((await stateOf(taken)).status).toBe('failed');
    // The file was uploaded before the worker ended; the next boot sends the result.
    expect((await stateOf(stopping)).status).toBe('stopping');
    await succeeds(ending, { key: (await sent()).key });
    expect((await stateOf(stopping)).status).toBe('kept');
  });

  it('ignores handshakes and results of another agent', async () => {
    const running = await start();
    await succeeds(running);
    const { id: otherId } = await makeAgent(db, { organizationId: of.organizationId, name: newId(), status: 'online' });
    const mine = of;
    of = { ...of, agentId: otherId };
    await handshake('boot-2');
    const posing = await db.transaction('system', (tx) =>
      issueCommand(tx, {
        ...of,
        kind: 'start_recording',
        payload: { recordingId: running.recordingId },
        deadline: new Date(),
      }),
    );
    await fails({ ...running, commandId: posing }, 'not ours');
    of = mine;
    expect((await stateOf(running)).status).toBe('recording');
  });
});
