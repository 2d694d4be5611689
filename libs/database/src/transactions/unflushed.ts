import type { Statement } from './statement-batch';

/** For what a crash may take back because it is only found and done again: Postgres answers before its disk does. */
export const hurry: Statement = {
  name: 'muster_hurry',
  text: "SELECT set_config('synchronous_commit', 'off', true)",
};
