import { readRunFiles } from '@muster/agents';
import { invalidField } from '@muster/contracts';
import { argumentsOf } from './check-arguments';
import type { Tool, ToolContext, ToolOutcome } from './tool';

const path = { type: 'string', maxLength: 1000, description: 'Relative to the worker’s folder of runs.' } as const;

/** What runs left on the machine: below the worker's folder of runs, and nothing else of it. */
export const fileTools: Tool[] = [
  {
    name: 'list_files',
    description: 'Lists a folder below the worker’s folder of runs, which has one folder for each run, by its id.',
    parameters: argumentsOf({ path }, { optional: ['path'] }),
    role: 'viewer',
    changes: false,
    perform: (context, given) => reach(context, 'list', (given.path as string | undefined) ?? ''),
  },
  {
    name: 'read_file',
    description: 'Reads a text of at most 1 MiB below the worker’s folder of runs.',
    parameters: argumentsOf({ path: { ...path, minLength: 1 } }),
    role: 'viewer',
    changes: false,
    perform: (context, given) => reach(context, 'read', given.path as string),
  },
];

async function reach(context: ToolContext, action: 'list' | 'read', wanted: string): Promise<ToolOutcome> {
  // The worker holds to it as well; said here, it costs the machine nothing.
  if (wanted.startsWith('/') || wanted.split('/').includes('..')) {
    throw invalidField('arguments.path', 'path must be relative to the folder of runs and stay in it');
  }
  const { caller, agentId, signal } = context;
  const answer = await readRunFiles(context, caller, agentId, { action, path: wanted }, signal);
  if ('found' in answer) return { status: 'done', result: answer.found };
  const { error, code } = answer.refused;
  return { status: 'failed', result: {}, error, code: code ?? 'refused' };
}
