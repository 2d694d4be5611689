import type { Agent, Muster, PackInstallation, PackVersion, Schedule, WorkflowSummary } from '@muster/sdk';
import { Failure, exitCodes } from '../frame/failure';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isResourceId(text: string): boolean {
  return uuid.test(text);
}

export async function findAgentId(muster: Muster, name: string): Promise<string> {
  if (isResourceId(name)) return name;
  return (await findOnlyNamed<Agent>('agent', name, muster.agents.list({ q: name, limit: 200 }), 'muster agents list'))
    .id;
}

export async function findWorkflowId(muster: Muster, name: string): Promise<string> {
  if (isResourceId(name)) return name;
  const list = muster.workflows.list({ q: name, limit: 200 });
  return (await findOnlyNamed<WorkflowSummary>('workflow', name, list, 'muster workflows list')).id;
}

export async function findScheduleId(muster: Muster, name: string): Promise<string> {
  if (isResourceId(name)) return name;
  const list = muster.schedules.list({ limit: 200 });
  return (await findOnlyNamed<Schedule>('schedule', name, list, 'muster schedules list')).id;
}

/** Returns the id of a pack that is specified by its id, the worker key of its process, or its name. */
export async function findPackId(muster: Muster, name: string): Promise<string> {
  if (isResourceId(name)) return name;
  const packs = await muster.packs.list().toArray();
  const byKey = packs.find(({ workerKey }) => workerKey === name);
  return (
    byKey ??
    requireOnlyOne(
      'pack',
      name,
      packs.filter((each) => each.name === name),
      'muster packs list',
    )
  ).id;
}

export async function findInstallation(muster: Muster, name: string, pack?: string): Promise<PackInstallation> {
  if (isResourceId(name)) return muster.installations.get(name);
  const list = muster.installations.list({ limit: 200, ...(pack ? { packId: await findPackId(muster, pack) } : {}) });
  return findOnlyNamed('installation', name, list, 'muster packs installations');
}

/** Finds a version of a pack by its id, its number (`3` or `#3`) or its label. */
export async function findVersion(muster: Muster, pack: string, name: string): Promise<PackVersion> {
  const versions = await muster.packs.versions(pack).toArray();
  const found = versions.filter(
    ({ versionId, number, label }) => versionId === name || label === name || String(number) === name.replace('#', ''),
  );
  return requireOnlyOne('version', name, found, 'muster packs versions <pack>');
}

/** Finds the only item with this name. Keeps only matching items in memory, because the list can be long. */
async function findOnlyNamed<T extends { name: string }>(
  kind: string,
  name: string,
  list: AsyncIterable<T>,
  all: string,
): Promise<T> {
  const found: T[] = [];
  for await (const each of list) if (each.name === name) found.push(each);
  return requireOnlyOne(kind, name, found, all);
}

function requireOnlyOne<T>(kind: string, name: string, found: T[], all: string): T {
  if (found.length === 1) return found[0]!;
  const message = found.length
    ? `${found.length} ${kind}s are named ${name}. Specify the id instead.`
    : `There is no ${kind} named ${name}.`;
  throw new Failure(`${kind}_not_found`, message, {
    hint: `To list them, run ${all}.`,
    exitCode: exitCodes.usage,
  });
}
