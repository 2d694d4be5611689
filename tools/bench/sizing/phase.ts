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
  worker.addListener(({ jobId, error }: { jobId?: string; error?: string }) => {
    if (error) faults.push(error);
    if (!jobId) return;
    completed += 1;
    routes.trackWork(routes.get('GET a run', `${house.getUrl('gateway')}/api/jobs/${jobId}`, api));
  });
  await worker.askQuestion({ url: `${house.getUrl('ingest')}/api/job-webhook`, headers: key, steps, lines });
  const getAgentAt = (at: number) => tenant.agentIds[at % load.agents];
  const sendHeartbeat = (at: number) => {
    const body = { agentId: getAgentAt(at), bootId: 'boot', vmState: 'running', healthy: true };
    return routes.post('heartbeat', `${house.getUrl('ingest')}/api/agent/heartbeat`, body, key);
  };
  const launchRun = async (at: number) => {
    const body = { workflowId: tenant.workflowId, agentId: getAgentAt(at), variables: { CLAIM_ID: `C-${at}` } };
    if (await routes.post('launch', `${house.getUrl('gateway')}/api/jobs/launch`, body, api)) runs += 1;
  };
  const before = await house.readUsage();
  await Promise.all([
    routes.sendAtRate(load.heartbeatsPerSecond, seconds, sendHeartbeat),
    routes.sendAtRate(load.runsPerSecond, seconds, launchRun),
    delay(seconds * 1000),
  ]);
  await routes.waitUntilAnswered();
  for (let waits = 0; waits < 600 && !(completed >= runs && (await house.isQuiet())); waits += 1) await delay(100);
  await routes.waitUntilAnswered();
  const after = await house.readUsage();
  worker.removeListener();
  const failed = [...faults, ...routes.summarizeRoutes().flatMap(({ fault }) => fault ?? [])];
  if (failed.length > 0 || completed < runs)
    throw new Error(`${runs - completed} of ${runs} runs did not end; ${failed.length} requests failed: ${failed[0]}`);
  return { before, after, runs, heartbeats: Math.round(load.heartbeatsPerSecond * seconds) };
}
