import { readRunFiles } from '@muster/commands';
import { invalidFieldError } from '@muster/contracts';
import { buildArgumentsSchema } from './check-arguments';
import type { Tool, ToolContext, ToolOutcome } from './tool';

const path = { type: 'string', maxLength: 1000, description: 'Path relative to the worker’s runs folder.' } as const;

/** The tools for files that runs left on the machine. They reach only the worker's runs folder. */
export const fileTools: Tool[] = [
  {
    name: 'list_files',
    description:
      'Lists a folder in the worker’s runs folder, which has one folder for each run, named by the run’s id.',
    parameters: buildArgumentsSchema({ path }, { optional: ['path'] }),
    permission: 'runs.read',
    changes: false,
    perform: (context, args) => listOrReadFiles(context, 'list', (args.path as string | undefined) ?? ''),
  },
  {
    name: 'read_file',
    description: 'Reads a text file of at most 1 MiB in the worker’s runs folder.',
    parameters: buildArgumentsSchema({ path: { ...path, minLength: 1 } }),
    permission: 'runs.read',
    changes: false,
    perform: (context, args) => listOrReadFiles(context, 'read', args.path as string),
  },
];

async function listOrReadFiles(
  context: ToolContext,
  action: 'list' | 'read',
  requestedPath: string,
): Promise<ToolOutcome> {
  // The worker also rejects such a path. The check here avoids sending a command that would fail.
  if (requestedPath.startsWith('/') || requestedPath.split('/').includes('..')) {
    throw invalidFieldError('arguments.path', 'path must be relative to the runs folder and stay in it');
  }
  const { caller, agentId, signal } = context;
  const answer = await readRunFiles(context, caller, agentId, { action, path: requestedPath }, signal);
  if ('found' in answer) return { status: 'done', result: answer.found };
  const { error, code } = answer.refused;
  return { status: 'failed', result: {}, error, code: code ?? 'refused' };
}
