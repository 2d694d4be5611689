import type { PlacementForecast, PlacementPreview, RunTarget } from '@muster/contracts';
import { decidePlacement, type FitCounts } from '../dispatch/decide-placement';
import { decideJobStart, type FullKey, type StartFacts } from '../dispatch/decide-start';

type Forecast = Pick<PlacementPreview, 'would' | 'agentId' | 'reason'>;

/** Facts about the organization and the workflow, whichever agent runs the job. */
export interface RunFacts extends Pick<
  StartFacts,
  'autoWake' | 'gate' | 'maxConcurrentRuns' | 'runningInOrganization' | 'missingParts'
> {
  /** The workflow's concurrency keys that are full. */
  fullKeys: FullKey[];
  /** A pool that has no free account for the workflow; null if each has one. */
  busyPool: string | null;
  nothingToRun: boolean;
}

export interface NamedFacts extends RunFacts, Pick<StartFacts, 'agent' | 'wakeRestsUntil'> {
  agentId: string;
  /** Why the agent has its status; null if this is not known. */
  statusReason: string | null;
}

export interface TargetFacts extends RunFacts, Pick<Required<RunTarget>, 'prefer'> {
  counts: FitCounts;
  idle: { agentId: string; lastActivityMs: number | null }[];
  /** Number of fitting agents that run only the jobs that name them. */
  exempt: number;
  /** The agent that would be woken for the run; null if none would be. */
  wakes: string | null;
  /** The labels that no agent has. */
  missing: string[];
}

/** Returns what would happen now to a run that names this agent. */
export function forecastRunOnNamedAgent(facts: NamedFacts): Forecast {
  const { agent, agentId, statusReason } = facts;
  const refused = forecastRefusedRun(facts);
  if (refused) return refused;
  const decision = decideJobStart({
    ...facts,
    // Full keys and pools are left out of this decision, because their names are added to its reason below.
    fullKeys: [],
    busyPool: null,
    head: { id: '', vaultKeys: [] },
    missingSecrets: [],
  });
  // A worker that reports that it is unhealthy, or no longer reports, makes its agent offline.
  const because = agent.status === 'offline' && statusReason ? ` (${statusReason.replace(/\.$/, '')})` : '';
  switch (decision.action) {
    case 'start':
      return forecastWaitForKeyOrAccount(facts) ?? { would: 'start', agentId, reason: decision.reason };
    case 'wake':
      // A run that waits for a key or an account wakes no machine.
      return (
        forecastWaitForKeyOrAccount(facts) ?? {
          would: 'wake',
          agentId,
          reason: `the agent is ${agent.status}${because}; it is started`,
        }
      );
    case 'fail':
      return { would: 'refuse', reason: `${decision.code}: ${decision.reason}` };
    default:
      return { would: 'wait', agentId, reason: `${decision.reason}${because}` };
  }
}

/** Returns what would happen now to a run that any agent with certain labels can take. */
export function forecastRunByLabels(facts: TargetFacts): Forecast {
  const { counts, idle, prefer, autoWake, wakes, missing, maxConcurrentRuns: most, runningInOrganization } = facts;
  if (counts.fits === 0) {
    const why = missing.length
      ? `no agent has the label ${missing.join(', ')}`
      : 'each label is on some agent, but no agent has all of them';
    return { would: 'refuse', reason: `no_agent_fits: ${why}` };
  }
  const refused = forecastRefusedRun(facts) ?? forecastWaitForKeyOrAccount(facts);
  if (refused) return refused;
  if (most !== null && runningInOrganization >= most) {
    return { would: 'wait', reason: `${runningInOrganization} of at most ${most} runs are in progress` };
  }
  const decision = decidePlacement({ prefer, idle, counts, autoWake, heldUp: null });
  if (decision.action === 'start') return { would: 'start', agentId: decision.agentId, reason: decision.why };
  const reason = describeOccupiedAgents(facts);
  if (wakes) return { would: 'wake', agentId: wakes, reason: `${reason}; one is started` };
  if (decision.waiting === 'no_agent_online')
    return { would: 'wait', reason: `${reason}; the setting vmAutoWakeOnJob is off` };
  return { would: 'wait', reason };
}

function forecastRefusedRun({ nothingToRun, gate }: RunFacts): Forecast | null {
  if (nothingToRun) {
    return { would: 'refuse', reason: 'nothing_to_run: the workflow has neither a script nor steps nor a bundle' };
  }
  if (gate.canLaunchRuns) return null;
  return { would: 'refuse', reason: `billing_gate_closed: ${gate.reason ?? 'the organization may not launch runs'}` };
}

/** Returns the key or the account that the run would wait for; null if it has all of them at once. */
function forecastWaitForKeyOrAccount({
  fullKeys: [full],
  busyPool,
}: RunFacts): { would: PlacementForecast; reason: string } | null {
  if (full?.most === 0) return { would: 'wait', reason: `the concurrency key ${full.key} is paused` };
  if (full) {
    const { key, held, most } = full;
    return { would: 'wait', reason: `${held} of at most ${most} runs hold the concurrency key ${key}` };
  }
  return busyPool === null ? null : { would: 'wait', reason: `no account of the pool ${busyPool} is free` };
}

function describeOccupiedAgents({ counts: { fits, busy, waking, draining, off }, exempt }: TargetFacts): string {
  const states = { busy, 'being started': waking, 'being drained': draining, off, 'for runs that name it': exempt };
  const parts = Object.entries(states).flatMap(([state, count]) => (count > 0 ? [`${count} ${state}`] : []));
  const none =
    fits === 1
      ? 'the only agent with the required labels is not free'
      : `none of the ${fits} agents with the required labels is free`;
  return `${none}: ${parts.join(', ')}`;
}
