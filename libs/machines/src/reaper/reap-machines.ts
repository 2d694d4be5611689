import type { Database } from '@muster/database';
import { type Clock, nilId, Round } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import type { ListedMachine, Machine, Machines } from '@muster/vm';
import { machineColumns, toProviderMachine, type MachineRow } from '../orders/machine-of';
import { handleMissingMachine, type MissingMachineOptions } from './handle-missing-machine';
import { handleOrphan } from './handle-orphan';
import { isMachineOfAgent, type MachineLocation, type Survey, surveyLocation } from './survey-location';

export interface ReaperParts {
  database: Database;
  machines: Pick<Machines, 'get'>;
  keyRing: KeyRing;
  clock: Clock;
}

export interface ReaperLimits extends MissingMachineOptions {
  stopsOrphans: boolean;
  signal: AbortSignal;
}

export interface ReaperCounts extends Record<string, number> {
  places: number;
  silentPlaces: number;
  orphansFound: number;
  orphansStopped: number;
  goneFound: number;
  goneTerminated: number;
  goneOffline: number;
  failed: number;
}

interface Tally {
  counts: ReaperCounts;
  round: Round;
}

/** Time for which a location is still checked after its last agent was terminated. */
const rememberedFor = '30 days';
const listable = ['local', 'http', 'ec2', 'docker'];
const concurrency = 4;

/**
 * Makes one pass over the machines at all providers. Several replicas may make passes at the same time: the providers
 * are queried outside of every transaction, and each machine is decided about under a lock with the current rows.
 */
export async function reapMachines(
  parts: ReaperParts,
  limits: ReaperLimits,
  round = new Round('reap machines'),
): Promise<ReaperCounts> {
  const counts: ReaperCounts = {
    places: 0,
    silentPlaces: 0,
    orphansFound: 0,
    orphansStopped: 0,
    goneFound: 0,
    goneTerminated: 0,
    goneOffline: 0,
    failed: 0,
  };
  const locations = await findMachineLocations(parts);
  const reapLocations = async () => {
    for (let location = locations.pop(); location && !limits.signal.aborted; location = locations.pop()) {
      await reapMachinesOfLocation(parts, location, limits, { counts, round });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, reapLocations));
  // Deletes the findings at locations that are no longer checked (such as an EC2 region), and about terminated agents.
  await parts.database.query(
    'system',
    `DELETE FROM machine_finding f
     WHERE f.last_seen_at < muster_now() - interval '7 days'
        OR f.kind = 'gone' AND NOT EXISTS (SELECT FROM agent a WHERE a.id = f.agent_id AND a.status <> 'terminated')`,
    [],
    'forget_findings',
  );
  return counts;
}

async function findMachineLocations({ database, machines, keyRing, clock }: ReaperParts): Promise<MachineLocation[]> {
  const rows = await database.query<MachineRow>(
    'system',
    `SELECT ${machineColumns} FROM agent a
     WHERE a.provider = ANY($1) AND (a.status <> 'terminated' OR a.status_since > muster_now() - $2::interval)
     ORDER BY a.status = 'terminated', a.id DESC`,
    [listable, rememberedFor],
    'reaper_agents',
  );
  const locations = new Map<string, MachineLocation>();
  const addLocation = (provider: string, machine: Machine): MachineLocation | null => {
    const name = machines.get(provider).getLocation?.(machine) ?? null;
    if (name === null) return null;
    const key = `${provider} ${name}`;
    const location = locations.get(key) ?? { provider, name, asking: machine, living: [] };
    locations.set(key, location);
    return location;
  };
  for (const row of rows) {
    const machine = toProviderMachine(row, keyRing, clock);
    const location = addLocation(row.provider, machine);
    if (row.status !== 'terminated') location?.living.push({ ...row, machine });
  }
  // The locations of this deployment itself (local workers and Docker) are checked even if they have no agent.
  const home = { agentId: nilId, organizationId: nilId, providerRef: null, providerConfig: {}, sign: () => '' };
  for (const provider of ['local', 'docker']) addLocation(provider, home);
  return [...locations.values()];
}

async function reapMachinesOfLocation(
  parts: ReaperParts,
  location: MachineLocation,
  { confirmMs, stopsOrphans: stops, signal, onTerminated }: ReaperLimits,
  { counts, round }: Tally,
): Promise<void> {
  const { database, machines } = parts;
  const provider = machines.get(location.provider);
  const [{ began } = { began: new Date(0) }] = await database.query<{ began: Date }>(
    'system',
    'SELECT muster_now() AS began',
  );
  let survey: Survey;
  try {
    survey = await surveyLocation(provider, location, { signal });
  } catch (error) {
    // If the provider does not answer, what was recorded about the machines at this location stays unchanged.
    counts.silentPlaces += 1;
    round.recordFailure(`${location.provider} at ${location.name}`, error);
    return;
  }
  counts.places += 1;
  const owners = new Map(location.living.map((agent) => [agent.providerRef ?? agent.agentId, agent]));
  const isOwned = (found: ListedMachine) => {
    const named = owners.get(found.ref);
    return (
      (named !== undefined && isMachineOfAgent(provider, found, named)) ||
      location.living.some((agent) => isMachineOfAgent(provider, found, agent))
    );
  };
  const unowned = survey.machines?.filter(
    (found) => found.agentId !== null && found.state !== 'gone' && !isOwned(found),
  );
  for (const found of unowned ?? []) {
    await runAndRecordFailure({ counts, round }, `${location.provider} machine ${found.ref}`, async () => {
      const step = await handleOrphan(database, provider, { location, found }, { confirmMs, stops, signal });
      if (step === 'found') counts.orphansFound += 1;
      if (step === 'stopped') counts.orphansStopped += 1;
      if (step === 'failed') counts.failed += 1;
    });
  }
  for (const { agentId, listed } of survey.gone) {
    await runAndRecordFailure({ counts, round }, `agent ${agentId}`, async () => {
      const step = await handleMissingMachine(database, { location, agentId, listed }, { confirmMs, onTerminated });
      if (step === 'found') counts.goneFound += 1;
      if (step === 'terminated') counts.goneTerminated += 1;
      if (step === 'offline') counts.goneOffline += 1;
    });
  }
  // Deletes the findings that this pass did not confirm. If the same machine is found again, its confirmation time
  // starts again.
  await database.query(
    'system',
    `DELETE FROM machine_finding
     WHERE provider = $1 AND place = $2 AND last_seen_at < $3
       AND (kind = 'orphan' AND NOT ref = ANY($4) OR kind = 'gone' AND ref = ANY($5))`,
    [location.provider, location.name, began, unowned?.map(({ ref }) => ref) ?? null, survey.there],
    'forget_seen',
  );
}

/** Runs the work for one row. A failing row does not stop the others, and the next pass tries it again. */
async function runAndRecordFailure(
  { counts, round }: Tally,
  subject: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    counts.failed += 1;
    round.recordFailure(subject, error);
  }
}
