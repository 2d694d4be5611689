import { basename, resolve } from 'node:path';
import { writeZip } from '@muster/contracts/zip';
import { isMusterError, type Muster, type PackInstallation } from '@muster/sdk';
import type { Call, Command, Option } from '../frame/command';
import { Failure, createUsageError } from '../frame/failure';
import { toSafeLine } from '../output/plain';
import { listInventory, readPackFiles } from '../folder/pack-files';
import { formatRelativeTime, getStatusColor } from '../output/words';
import { findInstallation, isResourceId, findPackId, findVersion } from '../parts/find';

const stages = ['draft', 'internal_verified', 'pilot', 'production', 'deprecated', 'archived'] as const;
const pack: Option = { type: 'string', short: 'p', value: 'PACK', about: 'Id, worker key or name of the pack' };

const list: Command = {
  words: 'packs list',
  summary: 'List packs, the bundles of files that workflows import',
  async runCommand({ muster, terminal }) {
    terminal.printTable(
      await muster().packs.list().toArray(),
      [
        { title: 'KEY', cell: ({ workerKey }) => workerKey },
        { title: 'NAME', cell: ({ name }) => name },
        { title: 'VERSIONS', cell: ({ versionCount }) => versionCount },
        { title: 'INSTALLATIONS', cell: ({ installationCount }) => installationCount },
        { title: 'ID', cell: ({ id }) => id },
      ],
      'There are no packs. To create one, run muster packs publish <folder> --pack <key> --create',
    );
  },
};

const versions: Command = {
  words: 'packs versions',
  args: '<pack>',
  summary: 'List the versions of a pack, newest first',
  async runCommand({ args, muster: openClient, terminal }) {
    const muster = openClient();
    terminal.printTable(
      await muster.packs.versions(await findPackId(muster, args[0]!)).toArray(),
      [
        { title: 'NUMBER', cell: ({ number }) => number },
        { title: 'LABEL', cell: ({ label }) => label },
        { title: 'STAGE', cell: ({ stage }) => stage, color: ({ stage }) => getStatusColor(stage) },
        { title: 'CREATED', cell: ({ createdAt }) => formatRelativeTime(createdAt) },
        { title: 'ID', cell: ({ versionId }) => versionId },
      ],
      'The pack has no versions yet.',
    );
  },
};

const installations: Command = {
  words: 'packs installations',
  args: '[pack]',
  summary: 'List installations and the version that each runs',
  async runCommand({ args, muster: openClient, terminal }) {
    const muster = openClient();
    const query = args[0] ? { packId: await findPackId(muster, args[0]) } : {};
    terminal.printTable(
      await muster.installations.list({ limit: 200, ...query }).toArray(),
      [
        { title: 'NAME', cell: ({ name }) => name },
        { title: 'PINNED', cell: ({ pinnedVersionId }) => pinnedVersionId },
        { title: 'PREVIOUS', cell: ({ previousVersionId }) => previousVersionId },
        { title: 'ID', cell: ({ id }) => id },
      ],
      'There are no installations. To create one, run muster packs pin <installation> <version> --pack <pack> --create',
    );
  },
};

const publish: Command = {
  words: 'packs publish',
  args: '<folder>',
  summary: 'Publish a folder as the next version of a pack',
  options: {
    pack,
    create: { type: 'boolean', about: 'Add the pack’s key to the process library if it is missing (admins only)' },
    label: { type: 'string', value: 'LABEL', about: 'Label of the version' },
    notes: { type: 'string', value: 'TEXT', about: 'Release notes of the version' },
  },
  async runCommand(call) {
    const { args, terminal } = call;
    const muster = call.muster();
    const files = readPackFiles(args[0]!);
    const id = await ensurePackOfProcess(call, muster, call.text('pack') ?? basename(resolve(args[0]!)));
    const before = await muster.packs.get(id);
    terminal.showProgress(`uploading ${files.length} files`);
    await muster.packs.uploadDraft(id, new Blob([new Uint8Array(writeZip(files))]), {
      files: listInventory(files),
      baseRuntimeBundleId: before.draftHead?.runtimeBundleId ?? null,
    });
    terminal.clearProgress();
    const [label, notes] = [call.text('label'), call.text('notes')];
    const version = await muster.packs.publish(id, { ...(label ? { label } : {}), ...(notes ? { notes } : {}) });
    terminal.printResult(
      version,
      `Version ${version.number} of ${toSafeLine(before.workerKey)}, in stage ${version.stage}: ${version.versionId}`,
    );
  },
};

const promote: Command = {
  words: 'packs promote',
  args: '<version>',
  summary: 'Change the stage of a version',
  more:
    `Stages: ${stages.join(', ')}. Only an admin can move a version to production, deprecated or archived. ` +
    'A version is promoted through every stage in between.',
  options: {
    pack,
    stage: { type: 'string', value: 'STAGE', about: 'Target stage (required)' },
    reason: { type: 'string', value: 'TEXT', about: 'Reason to record in the history' },
  },
  async runCommand(call) {
    const muster = call.muster();
    const id = await findPackId(muster, requireOption(call, 'pack'));
    let version = await findVersion(muster, id, call.args[0]!);
    const reason = call.text('reason');
    for (const stage of listStagesToPass(version.stage, requireOption(call, 'stage'))) {
      version = await muster.packs.promote(id, version.versionId, { stage, ...(reason ? { reason } : {}) });
      call.terminal.showProgress(`${stage}`);
    }
    call.terminal.clearProgress();
    call.terminal.printResult(version, `Version ${version.number} is in stage ${version.stage}.`);
  },
};

const pin: Command = {
  words: 'packs pin',
  args: '<installation> <version>',
  summary: 'Pin an installation to a version',
  options: {
    pack,
    create: { type: 'boolean', about: 'Create the installation if it does not exist; requires --pack' },
    reason: { type: 'string', value: 'TEXT', about: 'Reason to record in the history' },
  },
  async runCommand(call) {
    const muster = call.muster();
    const [name, wanted] = call.args as [string, string];
    const found = await findOrCreateInstallation(call, muster, name);
    const { versionId, number } = await findVersion(muster, found.packId, wanted);
    const reason = call.text('reason');
    const pinned = await muster.installations.pin(found.id, { versionId, ...(reason ? { reason } : {}) });
    call.terminal.printResult(pinned, `${toSafeLine(pinned.name)} now runs version ${number}.`);
  },
};

const rollback: Command = {
  words: 'packs rollback',
  args: '<installation>',
  summary: 'Pin an installation to its previous version',
  options: { pack, reason: { type: 'string', value: 'TEXT', about: 'Reason to record in the history' } },
  async runCommand(call) {
    const muster = call.muster();
    const { id } = await findInstallation(muster, call.args[0]!, call.text('pack'));
    const answer = await muster.installations.rollback(id, call.text('reason'));
    const { name, pinnedVersionId } = answer.installation;
    const queued = answer.queuedJobs.length
      ? ` ${answer.queuedJobs.length} queued runs still use the version that was replaced.`
      : '';
    call.terminal.printResult(answer, `${toSafeLine(name)} runs version ${pinnedVersionId} again.${queued}`);
  },
};

const diff: Command = {
  words: 'packs diff',
  args: '<from> <to>',
  summary: 'List the files that differ between two versions',
  options: { pack },
  async runCommand(call) {
    const muster = call.muster();
    const id = await findPackId(muster, requireOption(call, 'pack'));
    const [from, to] = [await findVersion(muster, id, call.args[0]!), await findVersion(muster, id, call.args[1]!)];
    const found = await muster.packs.diff(id, to.versionId, from.versionId);
    const lines = [
      ...found.removed.map((path) => call.terminal.colorText('red', `- ${path}`)),
      ...found.added.map((path) => call.terminal.colorText('green', `+ ${path}`)),
      ...found.changed.map(({ path }) => `~ ${path}`),
    ];
    call.terminal.printResult(found, lines.join('\n') || 'The versions have the same files.');
  },
};

export const packCommands = [list, versions, installations, publish, promote, pin, rollback, diff];

async function ensurePackOfProcess(call: Call, muster: Muster, key: string): Promise<string> {
  if (isResourceId(key)) return key;
  try {
    return (await muster.packs.ensure({ workerKey: key })).id;
  } catch (error) {
    if (!isMusterError(error, 'process_not_found') || !call.flag('create')) throw error;
    await muster.processes.put(key, { name: key });
    return (await muster.packs.ensure({ workerKey: key })).id;
  }
}

async function findOrCreateInstallation(call: Call, muster: Muster, name: string): Promise<PackInstallation> {
  const wanted = call.text('pack');
  try {
    return await findInstallation(muster, name, wanted);
  } catch (error) {
    const isMissing = error instanceof Failure && error.code === 'installation_not_found';
    if (!isMissing || !call.flag('create')) throw error;
    return muster.installations.create({ packId: await findPackId(muster, requireOption(call, 'pack')), name });
  }
}

/**
 * Returns the stages to which the version must be promoted one after the other: to reach a higher stage, each stage up
 * to it, otherwise only the target.
 */
function listStagesToPass(from: string, wanted: string): (typeof stages)[number][] {
  const to = stages.find((each) => each === wanted);
  if (!to) throw createUsageError(`--stage must be one of ${stages.join(', ')}.`);
  const ladder = stages.slice(0, 4);
  const [low, high] = [ladder.indexOf(from as 'draft'), ladder.indexOf(to)];
  return low >= 0 && high > low ? ladder.slice(low + 1, high + 1) : [to];
}

function requireOption(call: Call, name: string): string {
  return call.text(name) ?? throwMissingOption(name);
}

function throwMissingOption(name: string): never {
  throw createUsageError(`--${name} is missing.`);
}
