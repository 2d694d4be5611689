import type { Statement } from './statement-batch';

/** Commits without waiting for the WAL flush. For work that is found and repeated if a crash loses it. */
export const commitUnflushed: Statement = {
  name: 'muster_commit_unflushed',
  text: "SELECT set_config('synchronous_commit', 'off', true)",
};
