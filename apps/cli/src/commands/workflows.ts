import { mkdirSync } from 'node:fs';
import { diffToHunks } from '@muster/contracts/text-diff';
import type { Muster, Workflow } from '@muster/sdk';
import { isMusterError } from '@muster/sdk';
import type { Call, Command, Option } from '../frame/command';
import { exitCodes } from '../frame/failure';
import { LastSeen } from '../folder/last-seen';
import {
  digestContent,
  chooseFolderName,
  type LocalWorkflow,
  readWorkflows,
  sortKeys,
  type WorkflowContent,
  writeWorkflow,
} from '../folder/workflow-files';
import { toSafeLine, removeControlCharacters } from '../output/plain';
import { formatRelativeTime } from '../output/words';

const force: Option = { type: 'boolean', about: 'Overwrite workflows even if they were changed on the other side' };
const only: Option = { type: 'string', value: 'NAME', multiple: true, about: 'Only the workflow with this name' };

/** Maximum number of changed lines of a file that are searched for. Beyond it, all lines are shown as replaced. */
const maxEdits = 2000;

type Outcome = 'unchanged' | 'pulled' | 'updated' | 'created' | 'conflict' | 'gone';
interface Result {
  folder: string;
  name: string;
  outcome: Outcome;
  warnings?: string[];
}

const list: Command = {
  words: 'workflows list',
  summary: 'List workflows',
  async runCommand({ muster, terminal }) {
    terminal.printTable(
      await muster().workflows.list({ limit: 200 }).toArray(),
      [
        { title: 'NAME', cell: ({ name }) => name },
        { title: 'REVISION', cell: ({ revision }) => revision },
        { title: 'VARIABLES', cell: ({ variables }) => variables.join(', ') },
        { title: 'CHANGED', cell: ({ updatedAt }) => formatRelativeTime(updatedAt) },
        { title: 'ID', cell: ({ id }) => id },
      ],
      'There are no workflows. To create them from files, run muster workflows push <folder>',
    );
  },
};

const pull: Command = {
  words: 'workflows pull',
  args: '<folder>',
  summary: 'Download workflows to a folder, for example for use with git',
  more:
    'Each workflow is a subfolder with workflow.json, script.py and steps.json. Without --force, a workflow that was ' +
    'changed in the folder is not overwritten.',
  options: { only, force },
  async runCommand(call) {
    const folder = call.args[0]!;
    mkdirSync(folder, { recursive: true });
    const seen = new LastSeen(folder, call.login().url);
    const local = readWorkflows(folder);
    const results: Result[] = [];
    for (const remote of await fetchSelectedWorkflows(call, call.muster())) {
      const known = local.find(({ id }) => id === remote.id);
      const outcome = decidePullOutcome({ known, remote, seen, force: call.flag('force') });
      const name = known?.folder ?? chooseFolderName(remote.name, new Set(local.map((each) => each.folder)));
      const written: LocalWorkflow = { folder: name, id: remote.id, content: getWorkflowContent(remote) };
      if (outcome === 'pulled') {
        writeWorkflow(folder, written);
        if (!known) local.push(written);
      }
      if (outcome !== 'conflict') seen.setDigest(remote.id, digestContent(written.content));
      results.push({ folder: name, name: remote.name, outcome });
    }
    seen.saveDigests();
    return printResults(
      call,
      results,
      'The workflow was changed in the folder. Push it, or discard the changes with pull --force.',
    );
  },
};

const push: Command = {
  words: 'workflows push',
  args: '<folder>',
  summary: 'Upload the changed workflows of a folder',
  more: 'Without --force, a workflow that was changed in the service since the last pull or push is not overwritten.',
  options: { only, force },
  async runCommand(call) {
    const folder = call.args[0]!;
    const muster = call.muster();
    const seen = new LastSeen(folder, call.login().url);
    const results: Result[] = [];
    try {
      for (const local of filterByName(readWorkflows(folder), call.list('only'))) {
        results.push(await pushWorkflow({ muster, folder, local, seen, force: call.flag('force') }));
      }
    } finally {
      // The digests are also saved if the push of a workflow fails, because the workflows before it were pushed.
      seen.saveDigests();
    }
    return printResults(
      call,
      results,
      'The workflow was changed in the service. Pull it, or overwrite the changes there with push --force.',
    );
  },
};

const diff: Command = {
  words: 'workflows diff',
  args: '<folder>',
  summary: 'Show the changes that a push would make',
  more: 'The exit code is 0 if there are no changes, otherwise 1.',
  options: { only },
  async runCommand(call) {
    const muster = call.muster();
    const local = filterByName(readWorkflows(call.args[0]!), call.list('only'));
    const changes: (Change & { name: string })[] = [];
    for (const { folder, id, content } of local) {
      const remote = await findRemoteWorkflow(muster, id, content.name);
      const before = remote ? getWorkflowContent(remote) : undefined;
      const files = [
        {
          file: 'workflow.json',
          lines: diffToHunks(before ? formatMetadata(before) : '', formatMetadata(content), maxEdits),
        },
        { file: 'script.py', lines: diffToHunks(before?.script ?? '', content.script, maxEdits) },
        { file: 'steps.json', lines: diffToHunks(formatSteps(before), formatSteps(content), maxEdits) },
      ].filter(({ lines }) => lines.length);
      if (files.length) changes.push({ folder, name: content.name, new: !remote, files });
    }
    const { terminal } = call;
    terminal.printResult(
      changes,
      () => changes.flatMap((change) => formatChange(call, change)).join('\n') || 'There are no changes.',
    );
    return changes.length ? exitCodes.failed : exitCodes.ok;
  },
};

export const workflowCommands = [list, pull, push, diff];

interface Pushing {
  muster: Muster;
  folder: string;
  local: LocalWorkflow;
  seen: LastSeen;
  force: boolean;
}

async function pushWorkflow({ muster, folder, local, seen, force: forced }: Pushing): Promise<Result> {
  const { content } = local;
  const { name, description, maxCostUsd, workflowPackInstallationId, script, steps, variables } = content;
  const digest = digestContent(content);
  const remote = await findRemoteWorkflow(muster, local.id, name);
  const result = { folder: local.folder, name };
  if (!remote) {
    const made = await muster.workflows.create({
      ...{ name, description, variables, script, steps },
      ...(maxCostUsd === null ? {} : { maxCostUsd }),
      ...(workflowPackInstallationId === null ? {} : { workflowPackInstallationId }),
    });
    if (local.id === null) writeWorkflow(folder, { ...local, id: made.id });
    seen.setDigest(made.id, digest);
    return { ...result, outcome: 'created', ...formatWarnings(made) };
  }
  const before = getWorkflowContent(remote);
  const theirs = digestContent(before);
  if (theirs === digest) {
    seen.setDigest(remote.id, digest);
    return { ...result, outcome: 'unchanged' };
  }
  const base = seen.getDigest(remote.id);
  if (base !== undefined && base !== theirs && !forced) return { ...result, outcome: 'conflict' };
  const metadata = { name, description, maxCostUsd, workflowPackInstallationId };
  const { id } = remote;
  if (hasDifferences(metadata, pickFields(before, metadata))) await muster.workflows.update(id, metadata);
  const code = { script, steps, variables };
  const saved = hasDifferences(code, pickFields(before, code)) ? await muster.workflows.save(id, code) : undefined;
  seen.setDigest(id, digest);
  return { ...result, outcome: 'updated', ...(saved ? formatWarnings(saved) : {}) };
}

interface Pulling {
  known: LocalWorkflow | undefined;
  remote: Workflow;
  seen: LastSeen;
  force: boolean;
}

function decidePullOutcome({ known, remote, seen, force: forced }: Pulling): Outcome {
  if (!known) return 'pulled';
  const [ours, theirs] = [digestContent(known.content), digestContent(getWorkflowContent(remote))];
  if (ours === theirs) return 'unchanged';
  // If the folder still has the content of the last pull or push, only the service has changed the workflow.
  return forced || seen.getDigest(remote.id) === ours ? 'pulled' : 'conflict';
}

/** Finds a workflow by id. If the id does not exist, for example in another service, finds it by its unique name. */
async function findRemoteWorkflow(muster: Muster, id: string | null, name: string): Promise<Workflow | undefined> {
  if (id) {
    try {
      return await muster.workflows.get(id);
    } catch (error) {
      if (!isMusterError(error) || error.status !== 404) throw error;
    }
  }
  const named = (await muster.workflows.list({ q: name, limit: 200 }).toArray()).filter((each) => each.name === name);
  return named.length === 1 ? muster.workflows.get(named[0]!.id) : undefined;
}

async function fetchSelectedWorkflows(call: Call, muster: Muster): Promise<Workflow[]> {
  const all = filterByName(await muster.workflows.list({ limit: 200 }).toArray(), call.list('only'));
  const found: Workflow[] = [];
  for (const { id } of all) found.push(await muster.workflows.get(id));
  return found;
}

function filterByName<T extends { name: string } | { content: WorkflowContent }>(all: T[], names: string[]): T[] {
  return names.length ? all.filter((each) => names.includes('content' in each ? each.content.name : each.name)) : all;
}

function getWorkflowContent(workflow: Workflow): WorkflowContent {
  const { name, description, variables, maxCostUsd, workflowPackInstallationId, script, steps } = workflow;
  return { name, description, variables, maxCostUsd, workflowPackInstallationId, script, steps };
}

function pickFields<T extends object>(from: WorkflowContent, like: T): T {
  return Object.fromEntries(Object.keys(like).map((key) => [key, from[key as keyof WorkflowContent]])) as T;
}

function hasDifferences(one: unknown, other: unknown): boolean {
  return JSON.stringify(sortKeys(one)) !== JSON.stringify(sortKeys(other));
}

function formatWarnings({ warnings }: { warnings?: { stepId: string | null; message: string }[] }): {
  warnings?: string[];
} {
  return warnings?.length ? { warnings: warnings.map(({ message }) => message) } : {};
}

function formatMetadata({ script: _script, steps: _steps, ...metadata }: WorkflowContent): string {
  return `${JSON.stringify(metadata, null, 2)}\n`;
}

function formatSteps(content: WorkflowContent | undefined): string {
  return content?.steps.length ? `${JSON.stringify(sortKeys(content.steps), null, 2)}\n` : '';
}

function printResults({ terminal }: Call, results: Result[], onConflict: string): number {
  terminal.printTable(
    results,
    [
      { title: 'WORKFLOW', cell: ({ name }) => name },
      { title: 'FOLDER', cell: ({ folder }) => folder },
      {
        title: 'OUTCOME',
        cell: ({ outcome }) => outcome,
        color: ({ outcome }) => (outcome === 'conflict' ? 'red' : undefined),
      },
    ],
    'There are no workflows.',
  );
  for (const { name, warnings = [] } of results)
    for (const warning of warnings) terminal.printMessage(toSafeLine(`${name}: ${warning}`));
  const conflicts = results.filter(({ outcome }) => outcome === 'conflict');
  for (const { name } of conflicts) terminal.printMessage(toSafeLine(`${name}: ${onConflict}`));
  return conflicts.length ? exitCodes.failed : exitCodes.ok;
}

interface Change {
  folder: string;
  new: boolean;
  files: { file: string; lines: string[] }[];
}

function formatChange({ terminal }: Call, change: Change): string[] {
  return change.files.flatMap(({ file, lines }) => [
    terminal.colorText(
      'bold',
      change.new ? '--- does not exist in the service' : `--- service/${change.folder}/${file}`,
    ),
    terminal.colorText('bold', `+++ ${change.folder}/${file}`),
    ...lines.map((line) => {
      const color = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : undefined;
      return color ? terminal.colorText(color, removeControlCharacters(line)) : removeControlCharacters(line);
    }),
  ]);
}
