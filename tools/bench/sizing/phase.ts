import { setTimeout as delay } from 'node:timers/promises';
import { Routes } from '../load/routes';
import type { SizingHouse, Usage } from './house';

export interface PhaseLoad {
  seconds: number;
  heartbeatsPerSecond: number;
  /** Number of agents that send heartbeats and run. */
  agents: number;
  runsPerSecond: number;
  steps: number;
  lines: number;
}

export interface PhaseResult {
  before: Usage;
  after: Usage;
  runs: number;
  heartbeats: number;
}

/** Applies a load at fixed rates, waits until all of its work is done, and measures what the parts used for it. */
export async function runPhase(house: SizingHouse, load: PhaseLoad): Promise<PhaseResult> {
  const { tenant, worker } = house;
  const { seconds, steps, lines } = load;
  const routes = new Routes();
  const api = { 'x-api-key': tenant.apiKey };
  const key = { 'x-api-key': tenant.workerKey };
  let completed = 0;
  let runs = 0;
  const faults: string[] = [];
  worker.listen(({ jobId, error }: { jobId?: string; error?: string }) => {
    if (error) faults.push(error);
    if (!jobId) return;
    completed += 1;
    routes.follow(routes.get('GET a run', `${house.urlOf('gateway')}/api/jobs/${jobId}`, api));
  });
  await worker.ask({ url: `${house.urlOf('ingest')}/api/job-webhook`, headers: key, steps, lines });
  const agentAt = (at: number) => tenant.agentIds[at % load.agents];
  const heartbeat = (at: number) => {
    const body = { agentId: agentAt(at), bootId: 'boot', vmState: 'running', healthy: true };
    return routes.post('heartbeat', `${house.urlOf('ingest')}/api/agent/heartbeat`, body, key);
  };
  const launch = async (at: number) => {
    const body = { workflowId: tenant.workflowId, agentId: agentAt(at), variables: { CLAIM_ID: `C-${at}` } };
    if (await routes.post('launch', `${house.urlOf('gateway')}/api/jobs/launch`, body, api)) runs += 1;
  };
  const before = await house.usage();
  await Promise.all([
    routes.pace(load.heartbeatsPerSecond, seconds, heartbeat),
    routes.pace(load.runsPerSecond, seconds, launch),
    delay(seconds * 1000),
  ]);
  await routes.answered();
  for (let waits = 0; waits < 600 && !(completed >= runs && (await house.isQuiet())); waits += 1) await delay(100);
  await routes.answered();
  const after = await house.usage();
  worker.unlisten();
  const failed = [...faults, ...routes.summary().flatMap(({ fault }) => fault ?? [])];
  if (failed.length > 0 || completed < runs)
    throw new Error(`${runs - completed} of ${runs} runs did not end; ${failed.length} requests failed: ${failed[0]}`);
  return { before, after, runs, heartbeats: Math.round(load.heartbeatsPerSecond * seconds) };
}
