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

  const issueRecordingCommand = (kind: CommandKind, recordingId: string) =>
    db.transaction({ organizationId: agentRef.organizationId }, async (tx) => {
      if (kind === 'stop_recording') await markRecordingStopping(tx, { ...agentRef, recordingId });
      const deadline = new Date(Date.now() + 60_000);
      const commandId = await issueCommand(tx, { ...agentRef, kind, payload: { recordingId }, deadline });
      if (kind === 'start_recording') insertRecording(tx, { ...agentRef, recordingId }, {});
      return { recordingId, commandId };
    });
  const issueStart = () => issueRecordingCommand('start_recording', newId());
  const issueStop = ({ recordingId }: RecordingRequest) => issueRecordingCommand('stop_recording', recordingId);
  const reportResult = ({ commandId }: RecordingRequest, body: CommandResultBody) =>
    storeCommandResult(db, { ...agentRef, commandId }, body);
  const reportSuccess = (request: RecordingRequest, output: object = {}) =>
    reportResult(request, { status: 'success', output });
  const reportFailure = (request: RecordingRequest, error: string) =>
    reportResult(request, { status: 'failed', error });
  const acknowledgeCommand = ({ commandId }: RecordingRequest) =>
    db.query('system', 'UPDATE agent_command SET taken_at = now() WHERE id = $1', [commandId]);
  const makeCommandTimeOut = async ({ commandId }: RecordingRequest) => {
    await db.query('system', `UPDATE agent_command SET deadline = now() - interval '1 second' WHERE id = $1`, [
      commandId,
    ]);
    await failOverdueCommands(db);
  };
  const sendHandshake = (bootId: string) =>
    db.transaction({ organizationId: agentRef.organizationId }, (tx) =>
      applyHandshake(tx, agentRef.organizationId, { agentId: agentRef.agentId, bootId, workerVersion: '1.4.0' }),
    );
  const insertSentRecording = async (agentId = agentRef.agentId) => {
    const [id, key] = [newId(), `artifacts/${newId()}`];
    await db.query(
      'system',
      `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
       VALUES ($1, $2, $3, 'video', 'film.mkv', 'video/x-matroska', 4, $4)`,
      [id, agentRef.organizationId, agentId, key],
    );
    return { id, key };
  };
  const readRecordingRow = async ({ recordingId }: RecordingRequest) =>
    (await db.query<Record<string, any>>('system', 'SELECT * FROM recording WHERE id = $1', [recordingId]))[0]!;
  const readRecordingState = async (request: RecordingRequest) => {
    const { status, error, startedAt, endedAt } = await readRecordingRow(request);
    return { status, error, began: startedAt !== null, over: endedAt !== null };
  };
  const buildFailedState = (error: string, began = false) => ({ status: 'failed', error, began, over: true });
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
    const recording = await issueStart();
    expect(await readRecordingState(recording)).toEqual({ status: 'starting', error: null, began: false, over: false });
    await reportSuccess(recording);
    expect(await readRecordingState(recording)).toEqual({ status: 'recording', error: null, began: true, over: false });
    const ending = await issueStop(recording);
    expect((await readRecordingState(recording)).status).toBe('stopping');
    const { id, key } = await insertSentRecording();
    await reportSuccess(ending, { key });
    expect(await readRecordingRow(recording)).toMatchObject({
      status: 'kept',
      error: null,
      artifactId: id,
      endedAt: expect.any(Date),
    });
  });

  it('a browser recording is stored with its kind and its events, with or without a video', async () => {
    const [filmed, unfilmed] = [await issueStart(), await issueStart()];
    for (const recording of [filmed, unfilmed]) await reportSuccess(recording, { kind: 'browser' });
    const [video, events, others] = [
      await insertSentRecording(),
      await insertSentRecording(),
      await insertSentRecording(),
    ];
    await reportSuccess(await issueStop(filmed), { key: video.key, video: video.key, events: events.key });
    await reportSuccess(await issueStop(unfilmed), { key: others.key, events: others.key });
    expect(await readRecordingRow(filmed)).toMatchObject({
      status: 'kept',
      kind: 'browser',
      artifactId: video.id,
      eventsArtifactId: events.id,
    });
    expect(await readRecordingRow(unfilmed)).toMatchObject({
      status: 'kept',
      kind: 'browser',
      artifactId: null,
      eventsArtifactId: others.id,
    });
  });

  it('a recording fails with the error of its failed command', async () => {
    const [neverBegan, notSent] = [await issueStart(), await issueStart()];
    await reportFailure(neverBegan, 'recording is not available on this machine');
    expect(await readRecordingState(neverBegan)).toEqual(
      buildFailedState('recording is not available on this machine'),
    );
    await reportSuccess(notSent);
    await reportFailure(await issueStop(notSent), 'the recording could not be sent: answered 413');
    expect(await readRecordingState(notSent)).toEqual(
      buildFailedState('the recording could not be sent: answered 413', true),
    );
  });

  it('a recording fails if the result of its stop names no file of this agent', async () => {
    const { id: otherId } = await makeAgent(db, { organizationId: agentRef.organizationId, name: newId() });
    for (const output of [{}, { key: 'no such' }, { key: (await insertSentRecording(otherId)).key }]) {
      const recording = await issueStart();
      await reportSuccess(recording);
      await reportSuccess(await issueStop(recording), output);
      expect(await readRecordingState(recording)).toEqual(
        buildFailedState('The worker named no file that it had sent.', true),
      );
    }
  });

  it('a recording is stored once, whatever the order in which the results of its commands arrive', async () => {
    const recording = await issueStart();
    const ending = await issueStop(recording);
    const { key } = await insertSentRecording();
    await reportSuccess(ending, { key });
    const stored = await readRecordingRow(recording);
    expect((await reportSuccess(ending, { key: (await insertSentRecording()).key })).accepted).toBe(false);
    expect((await reportFailure(recording, 'too late')).accepted).toBe(true);
    await reportSuccess(recording);
    expect(await readRecordingRow(recording)).toEqual(stored);
    expect(stored['status']).toBe('kept');
  });

  it('the late result of a start command does not change the status of a recording that is being stopped', async () => {
    const recording = await issueStart();
    const ending = await issueStop(recording);
    await reportSuccess(recording);
    expect(await readRecordingState(recording)).toEqual({ status: 'stopping', error: null, began: true, over: false });
    await reportFailure(ending, 'gone');
    expect(await readRecordingState(recording)).toEqual(buildFailedState('gone', true));
  });

  it('a recording that never started fails, even if its stop is pending', async () => {
    const recording = await issueStart();
    const ending = await issueStop(recording);
    await reportFailure(recording, 'no screen');
    await reportFailure(ending, 'there is no such recording here');
    expect(await readRecordingState(recording)).toEqual(buildFailedState('no screen'));
  });

  it('a recording whose command timed out fails permanently', async () => {
    const [untaken, taken, unstopped] = [await issueStart(), await issueStart(), await issueStart()];
    await acknowledgeCommand(taken);
    await makeCommandTimeOut(untaken);
    await makeCommandTimeOut(taken);
    expect(await readRecordingState(untaken)).toEqual(
      buildFailedState('The agent did not accept the command in time.'),
    );
    expect(await readRecordingState(taken)).toEqual(buildFailedState('The agent did not finish the command in time.'));
    await reportSuccess(unstopped);
    const ending = await issueStop(unstopped);
    await makeCommandTimeOut(ending);
    const row = await readRecordingRow(unstopped);
    expect(row).toMatchObject({ status: 'failed', error: 'The agent did not accept the command in time.' });
    expect((await reportSuccess(ending, { key: (await insertSentRecording()).key })).accepted).toBe(false);
    await reportSuccess(taken);
    expect(await readRecordingRow(unstopped)).toEqual(row);
    expect((await readRecordingState(taken)).status).toBe('failed');
  });

  it('a recording whose start timed out is stored if its stop succeeds', async () => {
    const recording = await issueStart();
    const ending = await issueStop(recording);
    await makeCommandTimeOut(recording);
    expect((await readRecordingState(recording)).status).toBe('stopping');
    await reportSuccess(ending, { key: (await insertSentRecording()).key });
    expect((await readRecordingState(recording)).status).toBe('kept');
  });

  it('a new boot of the worker fails the recordings that the previous boot was making', async () => {
    const [running, taken, waiting, stopping, saved] = [
      await issueStart(),
      await issueStart(),
      await issueStart(),
      await issueStart(),
      await issueStart(),
    ];
    for (const recording of [running, stopping, saved]) await reportSuccess(recording);
    await acknowledgeCommand(taken);
    const ending = await issueStop(stopping);
    await reportSuccess(await issueStop(saved), { key: (await insertSentRecording()).key });
    await sendHandshake('boot-1');
    expect((await readRecordingState(running)).status).toBe('recording');
    await sendHandshake('boot-2');
    expect(await readRecordingState(running)).toEqual(buildFailedState(restarted, true));
    expect(await readRecordingState(taken)).toEqual(buildFailedState(restarted));
    expect((await readRecordingState(saved)).status).toBe('kept');
    // The start command of this recording is still undelivered, so the next boot executes it.
    expect((await readRecordingState(waiting)).status).toBe('starting');
    await reportSuccess(waiting);
    expect((await readRecordingState(waiting)).status).toBe('recording');
    // The late result of the previous boot's start command changes nothing.
    await reportSuccess(taken);
    expect((await readRecordingState(taken)).status).toBe('failed');
    // The previous boot uploaded the file before it ended. The next boot sends the result.
    expect((await readRecordingState(stopping)).status).toBe('stopping');
    await reportSuccess(ending, { key: (await insertSentRecording()).key });
    expect((await readRecordingState(stopping)).status).toBe('kept');
  });

  it('handshakes and results of another agent do not change a recording', async () => {
    const running = await issueStart();
    await reportSuccess(running);
    const { id: otherId } = await makeAgent(db, {
      organizationId: agentRef.organizationId,
      name: newId(),
      status: 'online',
    });
    const mine = agentRef;
    agentRef = { ...agentRef, agentId: otherId };
    await sendHandshake('boot-2');
    const posing = await db.transaction('system', (tx) =>
      issueCommand(tx, {
        ...agentRef,
        kind: 'start_recording',
        payload: { recordingId: running.recordingId },
        deadline: new Date(),
      }),
    );
    await reportFailure({ ...running, commandId: posing }, 'not ours');
    agentRef = mine;
    expect((await readRecordingState(running)).status).toBe('recording');
  });
});
