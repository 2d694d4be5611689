export const agentStatuses = [
  'online',
  'offline',
  'stopped',
  'starting',
  'stopping',
  'rebooting',
  'draining',
  'terminated',
] as const;
export type AgentStatus = (typeof agentStatuses)[number];

export const agentProviders = ['local', 'external', 'http', 'ec2', 'docker'] as const;
export type AgentProvider = (typeof agentProviders)[number];

export const lifecycleEvents = [
  'idle_stop_attempt',
  'idle_stop_success',
  'idle_stop_failed',
  'wake_requested',
  'wake_blocked',
  'wake_ready',
  'wake_timeout',
  'wake_failed',
  'manual_start',
  'manual_stop',
  'manual_reboot',
] as const;
export type LifecycleEvent = (typeof lifecycleEvents)[number];

export const lifecycleSources = [
  'api',
  'console',
  'schedule',
  'retry',
  'dispatcher',
  'idle_monitor',
  'watchdog',
  'heartbeat',
  'handshake',
  'provider',
] as const;
export type LifecycleSource = (typeof lifecycleSources)[number];

export const commandKinds = [
  'run',
  'snippet',
  'function',
  'builder',
  'script',
  'imaging_images',
  'imaging_composite',
  'stop_job',
  'start_recording',
  'attach_recording',
  'stop_recording',
  'deploy_extension',
  'autopilot_open',
  'autopilot_look',
  'autopilot_attempt',
  'autopilot_close',
  'repair',
  'restart',
  'files',
  'answer',
] as const;
export type CommandKind = (typeof commandKinds)[number];

/** Names of the software that the worker looks for on its machine. Some commands require it. */
export const machineParts = {
  python: 'Python',
  chromium: 'Chromium',
  ffmpeg: 'ffmpeg',
  pillow: 'Pillow',
  odbc: 'ODBC for Python (pyodbc)',
  sandbox: 'a sandbox for browsers',
} as const satisfies Record<string, string>;
export type MachinePart = keyof typeof machineParts;

export const timelineKinds = ['lifecycle', 'provisioning', 'execution', 'status', 'job'] as const;
export type TimelineKind = (typeof timelineKinds)[number];

export const recordingStatuses = ['starting', 'recording', 'stopping', 'kept', 'failed'] as const;
export type RecordingStatus = (typeof recordingStatuses)[number];
