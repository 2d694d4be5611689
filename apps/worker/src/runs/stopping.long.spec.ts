// This test is long because it waits for scripts that ignore SIGTERM.
// A short test of the same code: apps/worker/src/survival.spec.ts
import { findProcesses } from '@muster/testing';
import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeService } from '../testing/fake-service.harness';
import { buildCommand, buildRunCommand, WorkerHarness } from '../testing/worker-process.harness';

/** Ignores SIGTERM, forks, leaves the session, and orphans a process without the run's environment and parent. */
const stubborn = `
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        nameless = "import time, signal; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
        subprocess.Popen([sys.executable, "-c", nameless, "nameless-MARK"], env={}, start_new_session=True)
        os._exit(0)
    time.sleep(600)
print("ready", flush=True)
time.sleep(600)
`;

describe('The end of a run', () => {
  let service: FakeService;
  let worker: WorkerHarness;

  beforeEach(async () => {
    service = await FakeService.start();
    worker = new WorkerHarness(service);
  });

  afterEach(async () => {
    await worker.remove();
    await service.stop();
    expect(service.faults).toEqual([]);
  });

  const startStubborn = async (payload: object = {}) => {
    const run = buildRunCommand(stubborn.replace('MARK', worker.folder), payload);
    expect(await service.pushCommand(run)).toBe(202);
    await service.waitUntil('it is ready', () => service.listLogs(run.jobId).length);
    await service.waitUntil(
      'all of it runs',
      () => findProcesses(run.commandId).length >= 3 && findNamelessProcesses(worker.folder).length,
    );
    return run;
  };
  const haveAllProcessesEnded = (run: { commandId: string }) =>
    findProcesses(run.commandId).length === 0 && findNamelessProcesses(worker.folder).length === 0;

  it('stop_job kills all processes, even those that ignore SIGTERM or have left the session', async () => {
    await worker.start();
    const run = await startStubborn();
    const stop = buildCommand('stop_job', { jobId: run.jobId, reason: 'no longer wanted', graceMs: 100 });
    expect(await service.pushCommand(stop)).toBe(202);
    const result = await service.waitUntil('the result', () => service.findResult(stop.commandId));
    expect(result).toEqual({ status: 'success', output: { remaining: 0 } });
    expect(haveAllProcessesEnded(run)).toBe(true);
    expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
      status: 'cancelled',
      error: 'no longer wanted',
    });
  });

  it('a second stop_job may shorten the grace period of the first', async () => {
    await worker.start();
    const run = await startStubborn();
    const patient = buildCommand('stop_job', { jobId: run.jobId, reason: 'first', graceMs: 3_600_000 });
    const hasty = buildCommand('stop_job', { jobId: run.jobId, reason: 'second', graceMs: 0 });
    await service.pushCommand(patient);
    await service.pushCommand(hasty);
    for (const { commandId } of [patient, hasty]) {
      const result = await service.waitUntil('the result', () => service.findResult(commandId));
      expect(result.output).toEqual({ remaining: 0 });
    }
    const { error } = await service.waitUntil('the end', () => service.findTerminalReport(run.jobId));
    expect(error).toBe('first');
  });

  it('stop_job of a job that does not run on this machine succeeds and reports no remaining processes', async () => {
    await worker.start();
    const stop = buildCommand('stop_job', { jobId: 'elsewhere', reason: 'r', graceMs: 0 });
    await service.pushCommand(stop);
    expect(await service.waitUntil('the result', () => service.findResult(stop.commandId))).toEqual({
      status: 'success',
      output: { remaining: 0 },
    });
  });

  it('a run that arrives after its stop_job never starts, even after a kill of the worker', async () => {
    await worker.start();
    const late = buildRunCommand('print("never")');
    const stop = buildCommand('stop_job', { jobId: late.jobId, reason: 'cancelled before it came', graceMs: 0 });
    await service.pushCommand(stop);
    expect((await service.waitUntil('the result', () => service.findResult(stop.commandId))).output).toEqual({
      remaining: 0,
    });
    expect(await service.pushCommand(late)).toBe(200);
    await worker.kill();
    await worker.start();
    expect(await service.pushCommand(late)).toBe(200);
    const next = buildRunCommand('print("next")');
    expect(await service.pushCommand(next)).toBe(202);
    await service.waitUntil('the end of the next', () => service.findTerminalReport(next.jobId));
    expect(service.requests.filter(({ text }) => text.includes(late.jobId) && !text.includes('remaining'))).toEqual([]);
  });

  it('a run that has ended leaves no daemon processes', async () => {
    await worker.start();
    const run = buildRunCommand(
      stubborn.replace('MARK', worker.folder).replace(/time\.sleep\(600\)\n$/, 'time.sleep(0.3)\n'),
    );
    await service.pushCommand(run);
    expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
      status: 'completed',
    });
    expect(haveAllProcessesEnded(run)).toBe(true);
  });

  it('a snippet that has ended leaves no daemon processes', async () => {
    await worker.start();
    const code = stubborn.replace('MARK', worker.folder).replace(/time\.sleep\(600\)\n$/, 'time.sleep(0.3)\n');
    const snippet = buildCommand('snippet', { code });
    await service.pushCommand(snippet);
    const result = await service.waitUntil('the result', () => service.findResult(snippet.commandId));
    expect(result).toEqual({ status: 'success', output: 'ready\n', exitCode: 0 });
    expect(haveAllProcessesEnded(snippet)).toBe(true);
  });

  it('a run that exceeds its maximum runtime fails', async () => {
    await worker.start();
    const run = buildRunCommand('import time\ntime.sleep(600)', { maxRuntimeMs: 300 });
    await service.pushCommand(run);
    expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
      status: 'failed',
      error: 'the run exceeded its maximum runtime of 300 ms',
      errorCode: 'execution_timeout',
    });
    expect(haveAllProcessesEnded(run)).toBe(true);
  });

  it('a run fails with a specific error code if its process is killed or if Python is missing', async () => {
    await worker.start();
    const killed = buildRunCommand('import os, signal\nos.kill(os.getpid(), signal.SIGKILL)');
    await service.pushCommand(killed);
    expect(await service.waitUntil('the end', () => service.findTerminalReport(killed.jobId))).toMatchObject({
      error: 'exit code 137',
      errorCode: 'process_killed',
    });
    await worker.kill('SIGTERM');
    await worker.start({ PYTHON: 'no-such-python' });
    const unstarted = buildRunCommand('pass');
    await service.pushCommand(unstarted);
    expect(await service.waitUntil('the end', () => service.findTerminalReport(unstarted.jobId))).toMatchObject({
      status: 'failed',
      errorCode: 'run_not_started',
    });
  });

  it('the run of a job that the service abandons is killed and reports nothing more', async () => {
    await worker.start();
    const run = await startStubborn();
    service.abandon.push(run.jobId);
    await service.waitUntil('nothing is left', () => haveAllProcessesEnded(run));
    await service.waitUntil(
      'it is forgotten',
      () => service.listAccepted('/api/agent/heartbeat').at(-1)!.body.runningJobIds.length === 0,
    );
    expect(service.findTerminalReport(run.jobId)).toBeUndefined();
    const next = buildRunCommand('pass');
    await service.waitUntil('it is free', () => !existsSync(join(worker.folder, 'spool', run.commandId)));
    expect(await service.pushCommand(next)).toBe(202);
    expect(await service.waitUntil('the end', () => service.findTerminalReport(next.jobId))).toMatchObject({
      status: 'completed',
    });
  });

  it('a run ends when the service answers that its job has ended', async () => {
    await worker.start();
    service.interfere = ({ path, body }) =>
      path === '/api/job-logs' && body.logs[0].message === 'ready'
        ? { status: 200, body: { accepted: false, reason: 'job_over' } }
        : undefined;
    const run = buildRunCommand(stubborn.replace('MARK', worker.folder));
    await service.pushCommand(run);
    expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
      status: 'cancelled',
    });
    expect(haveAllProcessesEnded(run)).toBe(true);
  });

  it('a worker that cannot reach the service ends its run, which it reports once the service answers', async () => {
    await worker.start({ MUSTER_FENCE_MS: '700' });
    const run = await startStubborn();
    service.interfere = () => 'hang up';
    await service.waitUntil('nothing is left', () => haveAllProcessesEnded(run));
    service.interfere = () => undefined;
    expect(await service.waitUntil('the end', () => service.findTerminalReport(run.jobId))).toMatchObject({
      status: 'failed',
      error: 'the run was stopped because the service was unreachable for 700 ms',
      errorCode: 'service_unreachable',
    });
  });

  it('a worker that receives SIGTERM fails its run, delivers the run’s end, and exits with 0', async () => {
    await worker.start();
    const run = await startStubborn();
    expect(await worker.kill('SIGTERM')).toBe(0);
    expect(service.findTerminalReport(run.jobId)).toMatchObject({
      status: 'failed',
      error: 'the worker was stopped',
      errorCode: 'worker_stopped',
    });
    expect(haveAllProcessesEnded(run)).toBe(true);
  });

  it.each([
    [
      'a newer boot of the agent',
      { boot: 'superseded', agentStatus: 'online' },
      'another worker took over',
      'worker_stopped',
    ],
    ['the termination of the agent', { agentStatus: 'terminated' }, 'the agent was terminated', 'agent_not_ready'],
  ])('%s ends the worker and its run', async (_, body, error, errorCode) => {
    await worker.start();
    const run = await startStubborn();
    service.interfere = ({ path }) => {
      if (path === '/api/agent/heartbeat') return { status: 409 };
      return path === '/api/agents/handshake' ? { status: 409, body } : undefined;
    };
    await service.waitUntil('its end', () => worker.child!.exitCode !== null);
    expect(worker.child!.exitCode).toBe(3);
    expect(service.findTerminalReport(run.jobId)).toMatchObject({ status: 'failed', error, errorCode });
    expect(haveAllProcessesEnded(run)).toBe(true);
  });

  it('the worker and its run end when the worker’s lease file is no longer updated', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'muster-lease-'));
    const lease = join(folder, 'lease');
    writeFileSync(lease, '');
    await worker.start({ MUSTER_LEASE_FILE: lease });
    const run = await startStubborn();
    utimesSync(lease, new Date(Date.now() - 61_000), new Date(Date.now() - 61_000));
    await service.waitUntil('its end', () => worker.child!.exitCode !== null);
    expect(haveAllProcessesEnded(run)).toBe(true);
    expect(service.findTerminalReport(run.jobId)).toMatchObject({ status: 'failed', errorCode: 'worker_stopped' });
    rmSync(folder, { recursive: true });
  });

  it('a snippet that exceeds its timeout fails with execution_timeout without leaving processes', async () => {
    await worker.start();
    const code = `print("begun", flush=True)\n${stubborn.replace('MARK', worker.folder)}`;
    const snippet = buildCommand('snippet', { code, timeoutMs: 3000 });
    await service.pushCommand(snippet);
    expect(await service.waitUntil('the result', () => service.findResult(snippet.commandId))).toMatchObject({
      status: 'failed',
      code: 'execution_timeout',
      output: 'begun\nready\n',
    });
    expect(haveAllProcessesEnded(snippet)).toBe(true);
  });
});

/** Returns the processes that have the mark in their command line. They have no mark in their environment. */
function findNamelessProcesses(mark: string): number[] {
  return findProcesses('', `nameless-${mark}`);
}
