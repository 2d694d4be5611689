import { createProjectGraphAsync } from '@nx/devkit';

/**
 * The boundaries rule reads nx's cached project graph, and without one it says nothing at all. Under nx the graph
 * has just been made; everywhere else it is made here, so that a fresh clone is not linted without boundaries.
 */
export async function prepareProjectGraph() {
  if (process.env.NX_TASK_TARGET_PROJECT) return;
  process.env.NX_DAEMON ??= 'false';
  await createProjectGraphAsync({ exitOnError: false, resetDaemonClient: true });
}
