/** Each is a program of this folder by that name. */
export const benchmarks = [
  'read-resource',
  'outbox',
  'streams',
  'launch',
  'launch-latency',
  'reservation',
  'job-logs',
  'heartbeats',
  'schedules',
  'batch',
  'sweeps',
  'roi',
  'idle',
  'job-life',
  'load',
  'growth',
] as const;
