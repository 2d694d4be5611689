import type { Call, Option } from '../frame/command';
import { createUsageError } from '../frame/failure';

/** The options of commands that can run on any agent with certain labels. */
export const targetOptions = {
  label: {
    type: 'string',
    short: 'l',
    value: 'LABEL',
    multiple: true,
    about: 'Run on any agent that has this label. If repeated, the agent must have all labels',
  },
  prefer: {
    type: 'string',
    value: 'running|spread',
    about: 'With --label: choose the idle agent that was busy last (running), or that has been idle longest (spread)',
  },
} satisfies Record<string, Option>;

/** Returns the target that the options specify, or undefined without --label. */
export function parseTarget(call: Call): { labels: string[]; prefer?: 'running' | 'spread' } | undefined {
  const labels = [...new Set(call.list('label'))];
  const prefer = call.text('prefer');
  if (prefer !== undefined && prefer !== 'running' && prefer !== 'spread') {
    throw createUsageError(
      '--prefer must be running (the idle agent that was busy last) or spread (the agent that has been idle ' +
        'longest).',
    );
  }
  if (prefer && labels.length === 0) throw createUsageError('--prefer can only be used together with --label.');
  return labels.length ? { labels, ...(prefer ? { prefer } : {}) } : undefined;
}
