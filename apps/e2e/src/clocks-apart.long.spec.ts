// This test is long because it starts seven processes with libfaketime.
// A short test of the same code: libs/database/src/clock-sync.spec.ts
import { rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { serviceApps, type ServiceApp } from '@muster/contracts';
import { FakeWorker, HttpClient, waitFor } from '@muster/testing';
import { fetchFaketime } from '../../../tools/dev-stack/src/faketime';
import { type FaultFixture, openFaultFixture } from './fault-fixture';
import { ServiceProcess } from './service-process';

jest.setTimeout(300_000);

/** Seconds by which the clock of each app is ahead of the database's clock. */
const offsets: Record<ServiceApp, number> = {
  gateway: -70,
  ingest: 90,
  dispatcher: 70,
  scheduler: -40,
  metering: 40,
  'feedback-sync': -40,
};
const deliveries = 10;

describe('six apps whose clocks differ by up to 160 seconds', () => {
  let fixture: FaultFixture;
  let library: string;
  let worker: FakeWorker;
  let receiver: Server;
  const received: string[] = [];
  const services: ServiceProcess[] = [];
  let admin: HttpClient;
  let machine: HttpClient;
  let ids: { agentId: string; workflowId: string };

  beforeAll(async () => {
    const found = await fetchFaketime({ env: process.env, onProgress: () => undefined });
    if (typeof found !== 'string') throw new Error(`libfaketime is not available: ${found.join('; ')}`);
    library = found;
    fixture = await openFaultFixture();
    const startWithClockAhead = async (app: ServiceApp, aheadSeconds: number) => {
      const clock = { LD_PRELOAD: library, FAKETIME: `${aheadSeconds >= 0 ? '+' : ''}${aheadSeconds}s` };
      const options = { FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1', OUTBOUND_ALLOW: '127.0.0.1' };
      const service = await ServiceProcess.start(app, { ...fixture.env, ...clock, ...options });
      services.push(service);
      return service;
    };
    const urls = new Map<ServiceApp, string>();
    for (const app of serviceApps) urls.set(app, (await startWithClockAhead(app, offsets[app])).url);
    // A second replica competes for the same deliveries.
    await startWithClockAhead('feedback-sync', 40);
    admin = await fixture.signIn(urls.get('gateway')!);

    const created = await admin.post('/api/agents', { name: 'Machine', provider: 'external' });
    const { agent, workerKey } = created.body;
    machine = new HttpClient(urls.get('ingest')!).withKey(workerKey);
    const hello = { agentId: agent.id, bootId: 'boot', workerVersion: '1' };
    const { body } = await machine.post('/api/agents/handshake', hello);
    worker = await FakeWorker.start(body.signingSecret);
    await machine.post('/api/agents/handshake', { ...hello, tunnelHostname: worker.url });
    const workflow = await admin.post('/api/workflows', { name: 'Claims', script: 'pass' });
    ids = { agentId: agent.id, workflowId: workflow.body.id };

    receiver = createServer((request, response) => {
      received.push(String(request.headers['webhook-id']));
      // The answer is delayed for a second, in which a replica that trusted its own clock would send the delivery
      // again.
      setTimeout(() => response.writeHead(204).end(), 1000);
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    await Promise.all(services.map((service) => service.end()));
    receiver?.close();
    await worker?.stop();
    await fixture?.close();
    if (library) await rm(dirname(library), { recursive: true, force: true });
  });

  const waitUntilPushed = (description: string, test: (command: FakeWorker['received'][number]) => boolean) =>
    waitFor(description, () => worker.received.find(test));
  const readJob = async (id: string) => (await admin.get(`/api/jobs/${id}`)).body;
  const isCloseToNow = (time: string) => Math.abs(Date.parse(time) - Date.now()) < 10_000;

  async function launchJob(): Promise<string> {
    const { jobId } = (await admin.post('/api/jobs/launch', ids)).body;
    await waitUntilPushed(
      'the run command',
      ({ kind, jobId: commandJobId }) => kind === 'run' && commandJobId === jobId,
    );
    await machine.post('/api/job-webhook', { jobId, status: 'running' });
    return jobId as string;
  }

  it('apps whose clocks differ record consistent times for a run and compute its cost', async () => {
    const id = await launchJob();
    await machine.post('/api/job-webhook', { jobId: id, status: 'completed' });
    const ended = await waitFor('the cost of the run', async () => {
      const read = await readJob(id);
      return read.totalCostUsd !== null && read;
    });
    expect([ended.queuedAt, ended.startedAt, ended.finishedAt].map(isCloseToNow)).toEqual([true, true, true]);
    expect(ended.durationMs).toBeLessThan(30_000);
  });

  it('apps whose clocks differ give a snippet its whole timeout, and fail it after that', async () => {
    const path = `/api/agents/${ids.agentId}/run-snippet`;
    const snippetId = (await admin.post(path, { code: 'print(1)', timeoutMs: 30_000 })).body.commandId;
    const command = await waitUntilPushed('the snippet command', ({ commandId }) => commandId === snippetId);
    const leftMs = Date.parse(command.deadline) - Date.now();
    expect(leftMs).toBeGreaterThan(20_000);
    expect(leftMs).toBeLessThan(45_000);
    const result = `/api/agents/${ids.agentId}/commands/${snippetId}/result`;
    expect((await machine.post(result, { status: 'success', output: '1\n' })).status).toBe(200);
    const silent = (await admin.post(path, { code: 'print(1)', timeoutMs: 2000 })).body.commandId;
    const readEndedCommand = async () => {
      const { body } = await admin.get(`${path}/status?commandId=${silent}`);
      return body.status !== 'pending' && body.status !== 'running' && body;
    };
    expect(await waitFor('the end of the snippet', readEndedCommand, 40_000)).toMatchObject({ status: 'failed' });
  });

  it('apps whose clocks differ stop a cancelled run with its grace period, without a reboot', async () => {
    const id = await launchJob();
    await admin.post(`/api/jobs/${id}/cancel`);
    await waitUntilPushed('the stop command', ({ kind, jobId }) => kind === 'stop_job' && jobId === id);
    // The worker uses a part of the grace period.
    await new Promise((resolve) => setTimeout(resolve, 6000));
    expect(worker.received.filter(({ kind, jobId }) => kind === 'stop_job' && jobId === id)).toHaveLength(1);
    await machine.post('/api/job-webhook', { jobId: id, status: 'cancelled' });
    expect(
      await waitFor('the end of the run', async () => (await readJob(id)).finishedAt && (await readJob(id))),
    ).toMatchObject({
      status: 'cancelled',
    });
    expect((await admin.get(`/api/agents/${ids.agentId}/status`)).body.status).toBe('online');
  });

  it('two replicas whose clocks differ deliver each webhook event once', async () => {
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const endpoint = await admin.post('/api/webhook-endpoints', { url, events: ['job.cancelled'] });
    expect(endpoint.status).toBe(201);
    // This run occupies the agent, so all runs that are cancelled below are queued.
    await launchJob();
    for (let n = 0; n < deliveries; n += 1) {
      const { jobId } = (await admin.post('/api/jobs/launch', ids)).body;
      await admin.post(`/api/jobs/${jobId}/cancel`);
    }
    await waitFor('the deliveries', () => new Set(received).size >= deliveries, 60_000);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(received).toHaveLength(deliveries);
  });
});
