import { createProjectGraphAsync } from '@nx/devkit';

/**
 * The boundaries rule reads nx's cached project graph, and reports nothing without it. nx has just created the graph if
 * this runs as an nx task. Otherwise it is created here, so that boundaries are checked in a fresh clone too.
 */
export async function prepareProjectGraph() {
  if (process.env.NX_TASK_TARGET_PROJECT) return;
  process.env.NX_DAEMON ??= 'false';
  await createProjectGraphAsync({ exitOnError: false, resetDaemonClient: true });
}
